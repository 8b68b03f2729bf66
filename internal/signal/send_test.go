package signal

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aldis/internal/hub"
	"aldis/internal/hubtest"
)

const ops = hub.ChatID("group:" + opsGroup)

// TestRequests: what each message asks of the daemon. The account is in all.
func TestRequests(t *testing.T) {
	group := map[string]any{"groupId": opsGroup}
	direct := map[string]any{"recipient": []any{bobNumber}}
	with := func(base map[string]any, more map[string]any) map[string]any {
		all := maps.Clone(base)
		maps.Copy(all, more)
		all["account"] = aliceNumber
		return all
	}
	ours := &hub.Quote{Ref: ref(bobNumber, "41"), Ours: true, From: aliceNumber, Text: "before"}
	theirs := &hub.Quote{Ref: ref(bobNumber, "42"), From: bobNumber, Aliases: []hub.SenderID{bobUUID}}
	tests := []struct {
		name   string
		m      hub.Message
		method string
		want   map[string]any
	}{
		{
			"text",
			hub.Message{Kind: hub.Text, Text: "hi <b>", Ref: ref(bobNumber, "")},
			"send", with(direct, map[string]any{"message": "hi <b>"}),
		},
		{
			"text to a group",
			hub.Message{Kind: hub.Text, Text: "hi", Ref: ref(ops, "")},
			"send", with(group, map[string]any{"message": "hi"}),
		},
		{
			"text to ourselves",
			hub.Message{Kind: hub.Text, Text: "hi", Ref: ref(aliceUUID, "")},
			"send",
			map[string]any{"account": aliceNumber, "noteToSelf": true, "message": "hi"},
		},
		{
			"text that quotes us",
			hub.Message{Kind: hub.Text, Text: "hi", Ref: ref(ops, ""), Quote: ours},
			"send", with(group, map[string]any{"message": "hi", "quoteTimestamp": 41.0, "quoteAuthor": aliceNumber, "quoteMessage": "before"}),
		},
		{
			"text that quotes somebody",
			hub.Message{Kind: hub.Text, Text: "hi", Ref: ref(bobNumber, ""), Quote: theirs},
			"send", with(direct, map[string]any{"message": "hi", "quoteTimestamp": 42.0, "quoteAuthor": bobNumber}),
		},
		{
			"text that quotes what nobody remembers, in a direct chat",
			hub.Message{Kind: hub.Text, Text: "hi", Ref: ref(bobNumber, ""), Quote: &hub.Quote{Ref: ref(bobNumber, "43")}},
			"send", with(direct, map[string]any{"message": "hi", "quoteTimestamp": 43.0, "quoteAuthor": bobNumber}),
		},
		{
			"text with the agent's name",
			hub.Message{Kind: hub.Text, Text: "done", Label: "deploy-bot", Ref: ref(bobNumber, "")},
			"send", with(direct, map[string]any{"message": "deploy-bot: done"}),
		},
		{
			"edit",
			hub.Message{Kind: hub.Edit, Text: "better", Label: "deploy-bot", Ref: ref(bobNumber, ""), Target: ref(bobNumber, "41")},
			"send", with(direct, map[string]any{"message": "deploy-bot: better", "editTimestamp": 41.0}),
		},
		{
			"edit of more than one chunk",
			hub.Message{Kind: hub.Edit, Text: strings.Repeat("x", 3000), Ref: ref(bobNumber, ""), Target: ref(bobNumber, "41")},
			"send", with(direct, map[string]any{"message": strings.Repeat("x", 3000), "editTimestamp": 41.0}),
		},
		{
			"reaction",
			hub.Message{Kind: hub.Reaction, Text: "👍", Ref: ref(bobNumber, ""), Quote: theirs},
			"sendReaction", with(direct, map[string]any{"emoji": "👍", "targetAuthor": bobNumber, "targetTimestamp": 42.0}),
		},
		{
			"reaction to us, taken back",
			hub.Message{Kind: hub.Reaction, Text: "👍", Removed: true, Ref: ref(ops, ""), Quote: ours},
			"sendReaction", with(group, map[string]any{"emoji": "👍", "targetAuthor": aliceNumber, "targetTimestamp": 41.0, "remove": true}),
		},
		{
			"deletion",
			hub.Message{Kind: hub.Deletion, Ref: ref(bobNumber, ""), Target: ref(bobNumber, "41")},
			"remoteDelete", with(direct, map[string]any{"targetTimestamp": 41.0}),
		},
	}
	inBubble(t, func(r rig) {
		for _, tt := range tests {
			before := len(r.d.Requests(tt.method))
			sent, err := r.c.Send(r.Context(), tt.m)
			if err != nil || len(sent.Refs) != 1 || sent.Refs[0].Chat != tt.m.Ref.Chat || sent.Unknown {
				t.Errorf("%s: %+v, %v", tt.name, sent, err)
				continue
			}
			if diff := cmp.Diff(tt.want, r.d.Requests(tt.method)[before].Params); diff != "" {
				t.Errorf("%s: -want +got\n%s", tt.name, diff)
			}
		}
		if err := r.c.SendReceipt(r.Context(), hub.Message{From: hub.Sender{ID: bobNumber}, Ref: ref(bobNumber, "44")}); err != nil {
			t.Error(err)
		}
		want := map[string]any{"account": aliceNumber, "recipient": bobNumber, "targetTimestamp": 44.0, "type": "read"}
		if diff := cmp.Diff(want, r.d.Requests("sendReceipt")[0].Params); diff != "" {
			t.Errorf("receipt: -want +got\n%s", diff)
		}
	})
}

// TestRefusedAtOnce: what can't be sent does not reach the daemon.
func TestRefusedAtOnce(t *testing.T) {
	tests := []struct {
		name string
		m    hub.Message
		kind hub.Kind
		says string
	}{
		{"empty text", hub.Message{Kind: hub.Text}, hub.Invalid, "empty"},
		{"empty edit", hub.Message{Kind: hub.Edit, Target: ref(ops, "1")}, hub.Invalid, "delete"},
		{"edit of nothing", hub.Message{Kind: hub.Edit, Text: "x", Target: ref(ops, "")}, hub.Invalid, "message_id"},
		{"quote of a name", hub.Message{Kind: hub.Text, Text: "x", Quote: &hub.Quote{Ref: ref(ops, "yesterday")}}, hub.Invalid, "yesterday"},
		{"quote of nobody knows whom", hub.Message{Kind: hub.Text, Text: "x", Quote: &hub.Quote{Ref: ref(ops, "1")}}, hub.NotFound, "reply_to"},
		{"reaction to nothing", hub.Message{Kind: hub.Reaction, Text: "👍"}, hub.Invalid, "emoji"},
		{"deletion of nothing", hub.Message{Kind: hub.Deletion}, hub.Invalid, "message_id"},
		{"a kind that is none", hub.Message{Kind: "poll"}, hub.Invalid, "poll"},
		{"a file, without roots", hub.Message{Kind: hub.Text, Attachments: []hub.Attachment{{Path: "/etc/passwd"}}}, hub.Denied, "--attachment-root"},
	}
	inBubble(t, func(r rig) {
		for _, tt := range tests {
			tt.m.Ref = ref(ops, "")
			_, err := r.c.Send(r.Context(), tt.m)
			if err == nil || hub.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if got := len(r.d.Requests("send")) + len(r.d.Requests("sendReaction")) + len(r.d.Requests("remoteDelete")); got != 0 {
			t.Errorf("%d requests", got)
		}
	})
}

// answerWith makes the daemon answer method with a captured answer.
func (r rig) answerWith(method, file string) {
	r.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/rpc", file))
	if err != nil {
		r.Fatal(err)
	}
	var c struct {
		Response struct{ Result, Error json.RawMessage }
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		r.Fatal(err)
	}
	a := hubtest.DaemonAnswer{Result: c.Response.Result}
	if c.Response.Error != nil {
		a.Error = c.Response.Error
	}
	r.d.Answer(method, func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return a })
}

// TestAnswers: what the answers of a real daemon to a send mean to an agent.
func TestAnswers(t *testing.T) {
	tests := []struct{ file, want string }{
		{"send_number.json", "1796055081235, 1 reached"},
		{"send_group.json", "1796055437894, 1 reached"},
		{"send_noteToSelf.json", "1796055081982, 1 reached"},
		{"send_two_one_bad.json", "1796055081409, 1 reached, 11111111-2222-4333-8444-555555555555: not registered with Signal"},
		{"send_unknown_number.json", "1796055081780, +15555550177: not registered with Signal; not_found: nobody was reached: not registered with Signal"},
		{"send_to_username.json", "1796055440640, nobody.01: not registered with Signal; not_found: nobody was reached: not registered with Signal"},
		{"unregistered_group.json", "1796055441329, bob: not registered with Signal; not_found: nobody was reached: not registered with Signal"},
		{"unregistered.json", "1796055441162, unknown"},
		{"server_403.json", "1796055539011, unknown"},
		{"send_untrusted_identity_shape_only.json", "1796060001000, bob: the safety number has changed and is not trusted: the operator has to check it and run signal-cli trust; denied: nobody was reached: the safety number has changed and is not trusted: the operator has to check it and run signal-cli trust"},
		{"send_group_unknown.json", "; not_found: Signal knows no such group, or the account is not in it: see list_chats"},
		{"send_bad_number.json", "; invalid: signal-cli refused it: Invalid phone number 'bob': No valid characters found."},
		{"send_attach_missing.json", "; unavailable: signal-cli could not do it: Failed to send message: /nonexistent/x.png: /nonexistent/x.png (No such file or directory) (AttachmentInvalidException) (UnexpectedErrorException)"},
		{"multi_account_unknown.json", "; unavailable: signal-cli does not hold the account of --account: the operator has to register or link it, or correct the setting (Specified account does not exist)"},
		{"method_not_found.json", "; unavailable: this version of signal-cli can't do send: the operator has to update it: the daemon has no such method"},
	}
	inBubble(t, func(r rig) {
		for _, tt := range tests {
			r.answerWith("send", tt.file)
			sent, err := r.say(bobNumber, "x")
			if got := outcomeText(sent, err); got != tt.want {
				t.Errorf("%s:\n got %s\nwant %s", tt.file, got, tt.want)
			}
		}
	})
}

func outcomeText(s hub.Sent, err error) string {
	var parts []string
	for _, r := range s.Refs {
		parts = append(parts, r.Key)
	}
	if s.Reached > 0 {
		parts = append(parts, fmt.Sprint(s.Reached, " reached"))
	}
	for _, f := range s.Failed {
		parts = append(parts, short.Replace(f.Recipient)+": "+f.Reason)
	}
	if s.Unknown {
		parts = append(parts, "unknown")
	}
	text := strings.Join(parts, ", ")
	if err != nil {
		text += fmt.Sprintf("; %s: %v", hub.KindOf(err), err)
	}
	return text
}

// TestRace: the captured timeline of a reply that overtakes the answer to the
// send that it quotes. The answer is an error, and still names the message.
func TestRace(t *testing.T) {
	raw, err := os.ReadFile("testdata/rpc/race_quote_before_send_response.json")
	if err != nil {
		t.Fatal(err)
	}
	var race struct {
		Steps []struct {
			At   float64 `json:"at_s"`
			Line struct {
				Params struct{ Envelope json.RawMessage }
				Error  json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(raw, &race); err != nil || len(race.Steps) != 3 {
		t.Fatalf("%d steps, %v", len(race.Steps), err)
	}
	for name, timeout := range map[string]time.Duration{"in time": 30 * time.Second, "late": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r rig) {
				r.c.SendTimeout = timeout
				r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
					return hubtest.DaemonAnswer{Error: race.Steps[2].Line.Error, Delay: time.Duration(race.Steps[2].At * float64(time.Second))}
				})
				time.AfterFunc(time.Duration(race.Steps[1].At*float64(time.Second)), func() { r.d.Receive(string(race.Steps[1].Line.Params.Envelope)) })
				sent, err := r.say(bobUUID, "question?")
				if err != nil || !sent.Unknown {
					t.Fatalf("sent %+v, %v", sent, err)
				}
				if len(r.inbox.texts()) != 1 || r.inbox.got[0].Quote.Ref.Key != "1796055539210" {
					t.Fatalf("the reply has to be there before the answer: %+v", r.inbox.got)
				}
				time.Sleep(time.Minute)
				refs := sent.Refs
				for _, l := range r.inbox.lates() {
					if l.id != "m1" {
						t.Errorf("late answer to %q", l.id)
					}
					refs = append(refs, l.ref)
				}
				if want := []hub.Ref{ref(bobUUID, "1796055539210")}; !slices.Equal(refs, want) {
					t.Errorf("the message is called %v, want %v", refs, want)
				}
			})
		})
	}
}

// TestLateAnswers: a send that was given up is unknown; its name is reported
// when the answer comes.
func TestLateAnswers(t *testing.T) {
	inBubble(t, func(r rig) {
		release := make(chan struct{})
		r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer {
			return hubtest.DaemonAnswer{Result: map[string]any{"timestamp": 77, "results": []any{hubtest.DaemonResult(bob, "SUCCESS")}}, Wait: release}
		})
		before := time.Now()
		sent, err := r.say(bobNumber, "x")
		if err != nil || !sent.Unknown || len(sent.Refs) != 0 || time.Since(before) != defaultSendTimeout {
			t.Fatalf("after %v: %+v, %v", time.Since(before), sent, err)
		}
		close(release)
		synctest.Wait()
		if got := r.inbox.lates(); !slices.Equal(got, []late{{"m1", ref(bobNumber, "77")}}) {
			t.Errorf("late %v", got)
		}
	})
}

// TestLostWhileSending: the daemon has read the request and dies.
func TestLostWhileSending(t *testing.T) {
	inBubble(t, func(r rig) {
		r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Cut: true} })
		sent, err := r.say(bobNumber, "x")
		if err != nil || !sent.Unknown {
			t.Errorf("sent %+v, %v", sent, err)
		}
		if n := len(r.d.Requests("send")); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
}

// TestAnswersInAnyOrder: each answer finds its request.
func TestAnswersInAnyOrder(t *testing.T) {
	inBubble(t, func(r rig) {
		r.d.Answer("send", func(q hubtest.DaemonRequest) hubtest.DaemonAnswer {
			n := q.Params["message"].(string)
			return hubtest.DaemonAnswer{
				Result: map[string]any{"timestamp": json.RawMessage("1" + n), "results": []any{}},
				Delay:  time.Duration(20-len(n)) * time.Second,
			}
		})
		done := make(chan bool)
		for i := range 10 {
			text := strings.Repeat("1", i+1)
			go func() {
				sent, err := r.say(bobNumber, text)
				done <- err == nil && len(sent.Refs) == 1 && sent.Refs[0].Key == "1"+text
			}()
		}
		for range 10 {
			if !<-done {
				t.Error("an answer went to the wrong request")
			}
		}
	})
}

// TestLongTextOut: daemons before 0.14 are given chunks, in order.
func TestLongTextOut(t *testing.T) {
	text := strings.Repeat("word ", 1000)
	for version, parts := range map[string]int{"0.13.19": 3, "0.14.0": 1, "0.14.7-SNAPSHOT": 1, "1.0": 1, "unknown": 3} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.d.Version = version
				r.run()
				synctest.Wait()
				sent, err := r.c.Send(t.Context(), hub.Message{
					Kind: hub.Text, Text: text, Label: "bot", Ref: ref(bobNumber, ""),
					Quote: &hub.Quote{Ref: ref(bobNumber, "42"), From: bobNumber},
				})
				if err != nil || len(sent.Refs) != parts || sent.Reached != 1 {
					t.Fatalf("%d refs, %+v, %v", len(sent.Refs), sent, err)
				}
				for i, q := range r.d.Requests("send") {
					message := q.Params["message"].(string)
					if first := i == 0; strings.HasPrefix(message, "bot: ") != first || (q.Params["quoteAuthor"] != nil) != first {
						t.Errorf("part %d: label or quote", i)
					}
					if parts > 1 && len(message) > chunkBytes {
						t.Errorf("part %d has %d bytes", i, len(message))
					}
				}
				r.stop()
				r.d.Close()
			})
		})
	}
}

// TestPartFails: what went out is named, and so is what did not; the rest is
// not sent.
func TestPartFails(t *testing.T) {
	inBubble(t, func(r rig) {
		n := 0
		answers := []hubtest.DaemonAnswer{
			{Result: map[string]any{"timestamp": 71, "results": []any{hubtest.DaemonResult(bob, "SUCCESS")}}},
			{Error: hubtest.DaemonError(-3, "Closed unexpectedly", nil)},
		}
		r.d.Answer("send", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { n++; return answers[n-1] })
		sent, err := r.say(bobNumber, strings.Repeat("word ", 1000))
		want := hub.Sent{
			Refs: []hub.Ref{ref(bobNumber, "71")}, Reached: 1,
			Failed: []hub.Failure{
				{Recipient: "part 2 of 3", Reason: "signal-cli can't reach Signal, try again later: Closed unexpectedly"},
				{Recipient: "part 3 of 3", Reason: "it and what follows was not sent, because of the part before"},
			},
		}
		if diff := cmp.Diff(want, sent); err != nil || diff != "" {
			t.Errorf("%v, -want +got\n%s", err, diff)
		}
	})
}

// TestCaptcha: sending pauses, nothing is sent meanwhile, and the operator
// alone sees the token.
func TestCaptcha(t *testing.T) {
	tests := []struct {
		file  string
		pause time.Duration
		token string
	}{
		{"proof_required.json", challengePause, "0123-challenge-token"},
		{"rate_429.json", rateLimitPause, ""},
		{"rate_limited_0.14.3_shape_only.json", 30 * time.Minute, ""},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			inBubble(t, func(r rig) {
				r.answerWith("send", tt.file)
				sent, err := r.say(bobNumber, "x")
				if hub.KindOf(err) != hub.Limited || len(sent.Refs) != 1 {
					t.Fatalf("%+v, %v", sent, err)
				}
				wantIn(t, err.Error(), time.Now().Add(tt.pause).UTC().Format(time.RFC3339))
				report := r.c.Report()
				if report.State != "paused" {
					t.Errorf("state %q", report.State)
				}
				if tt.token != "" {
					wantIn(t, report.Detail, "submitRateLimitChallenge", tt.token)
				}
				for range 10 {
					_, err = r.say(bobNumber, "y")
					if hub.KindOf(err) != hub.Limited || tt.token != "" && strings.Contains(err.Error(), tt.token) {
						t.Errorf("while paused: %v", err)
					}
				}
				if n := len(r.d.Requests("send")); n != 1 {
					t.Errorf("%d requests while paused", n-1)
				}
				r.d.Answer("send", nil)
				time.Sleep(tt.pause)
				if _, err := r.say(bobNumber, "z"); err != nil || r.c.Report().State != "connected" {
					t.Errorf("after the pause: %v, %+v", err, r.c.Report())
				}
			})
		})
	}
}

func TestChats(t *testing.T) {
	inBubble(t, func(r rig) {
		r.d.Contacts = append(r.d.Contacts,
			hubtest.DaemonContact{UUID: "ca201000-0000-4000-8000-000000000102"},
			hubtest.DaemonContact{Number: "+15555550199", Name: "Mallory", Blocked: true})
		r.d.Groups = append(r.d.Groups, hubtest.DaemonGroup{ID: "AAAA", Name: "Left", Left: true}, hubtest.DaemonGroup{ID: "BBBB", Name: "Blocked", Blocked: true})
		tests := []struct {
			query string
			want  []hub.Chat
		}{
			{"", []hub.Chat{
				{ID: "ca201000-0000-4000-8000-000000000102"},
				{ID: bobNumber, Name: "Bob"},
				{ID: aliceNumber, Name: "Note to Self"},
				{ID: ops, Name: "Ops team", Group: true},
			}},
			{"OPS", []hub.Chat{{ID: ops, Name: "Ops team", Group: true}}},
			{"ca20", []hub.Chat{{ID: "ca201000-0000-4000-8000-000000000102"}}},
			{"mallory", nil},
		}
		for _, tt := range tests {
			got, err := r.c.Chats(r.Context(), tt.query)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%q: %+v, %v", tt.query, got, err)
			}
		}
		r.d.Answer("listGroups", func(hubtest.DaemonRequest) hubtest.DaemonAnswer { return hubtest.DaemonAnswer{Drop: true} })
		if _, err := r.c.Chats(r.Context(), ""); hub.KindOf(err) != hub.Unavailable {
			t.Errorf("no answer: %v", err)
		}
	})
}
