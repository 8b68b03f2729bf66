package relay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
)

// That messages were written to a stream waits, and is never written down where
// they are handed over meanwhile.
func TestWhatIsHandedOverNeedNotBeNotedAsWritten(t *testing.T) {
	wrote := func(first, last hub.Seq) hub.Settlement {
		return hub.Settlement{Agent: "ci", First: first, Last: last, State: hub.Written}
	}
	handed := func(first, last hub.Seq) hub.Settlement {
		return hub.Settlement{Agent: "ci", Session: "s", First: first, Last: last, State: hub.HandedOver}
	}
	other := hub.Settlement{Agent: "desk", First: 1, Last: 9, State: hub.HandedOver}
	failed := hub.Settlement{Agent: "ci", Message: "m", State: hub.Failed}
	for _, tc := range []struct {
		name      string
		add       []hub.Settlement
		now, late []hub.Settlement // what is taken at once, and in the end
	}{
		{"nothing is handed over", []hub.Settlement{wrote(1, 3)}, nil, []hub.Settlement{wrote(1, 3)}},
		{"what follows on is one", []hub.Settlement{wrote(1, 3), wrote(4, 6), wrote(2, 9)}, nil, []hub.Settlement{wrote(1, 9)}},
		{"a gap", []hub.Settlement{wrote(1, 3), wrote(5, 6)}, []hub.Settlement{wrote(1, 3)}, []hub.Settlement{wrote(5, 6)}},
		{"all is handed over", []hub.Settlement{wrote(1, 3), handed(1, 3)}, []hub.Settlement{handed(1, 3)}, nil},
		{"more is handed over", []hub.Settlement{wrote(2, 3), handed(1, 7)}, []hub.Settlement{handed(1, 7)}, nil},
		{"the beginning is", []hub.Settlement{wrote(1, 3), handed(1, 2)}, []hub.Settlement{handed(1, 2)}, []hub.Settlement{wrote(3, 3)}},
		{"the end is", []hub.Settlement{wrote(1, 3), handed(2, 3)}, []hub.Settlement{handed(2, 3)}, []hub.Settlement{wrote(1, 3)}},
		{"something before is", []hub.Settlement{wrote(4, 5), handed(1, 3)}, []hub.Settlement{handed(1, 3)}, []hub.Settlement{wrote(4, 5)}},
		{"another agent's is", []hub.Settlement{wrote(1, 3), other}, []hub.Settlement{other}, []hub.Settlement{wrote(1, 3)}},
		{"a message fails", []hub.Settlement{wrote(1, 3), failed}, []hub.Settlement{failed}, []hub.Settlement{wrote(1, 3)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
			s := settler{wake: make(chan struct{}, 1)}
			s.take(start)
			for _, x := range tc.add {
				s.add(x)
			}
			if diff := cmp.Diff(tc.now, s.take(start.Add(time.Second))); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			late := s.take(start.Add(writtenAfter))
			late = append(late, s.take(start.Add(2*writtenAfter))...)
			if diff := cmp.Diff(tc.late, late); diff != "" {
				t.Errorf("in the end (-want +got):\n%s", diff)
			}
		})
	}
}
