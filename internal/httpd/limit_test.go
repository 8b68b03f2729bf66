package httpd

import (
	"testing"
	"time"
)

func TestLimiterAllowsABurstThenOneAtATime(t *testing.T) {
	now := time.Unix(0, 0)
	l := Limiter{PerMinute: 60, Now: func() time.Time { return now }}
	for i := range 60 {
		if _, ok := l.Allow("a"); !ok {
			t.Fatalf("refused act %d of the burst", i)
		}
	}
	wait, ok := l.Allow("a")
	if ok || wait != time.Second {
		t.Errorf("after the burst: %v, wait %v; want a second", ok, wait)
	}
	if _, ok := l.Allow("b"); !ok {
		t.Error("another key pays for it")
	}
	now = now.Add(time.Second)
	if _, ok := l.Allow("a"); !ok {
		t.Error("refused after the wait")
	}
}

func TestLimiterOfZeroRefusesNothing(t *testing.T) {
	var l Limiter
	for range 10_000 {
		if _, ok := l.Allow("a"); !ok {
			t.Fatal("refused")
		}
	}
}

func TestLimiterForgetsTheKeyLongestUnseen(t *testing.T) {
	l := Limiter{PerMinute: 1, Keys: 2, Now: func() time.Time { return time.Unix(0, 0) }}
	for _, step := range []struct {
		key string
		ok  bool
	}{
		{"a", true}, {"b", true}, {"a", false}, // a was seen after b
		{"c", true},  // in place of b
		{"a", false}, // still remembered
		{"b", true},  // was not
	} {
		if _, ok := l.Allow(step.key); ok != step.ok {
			t.Errorf("%s: %v, want %v", step.key, ok, step.ok)
		}
	}
	if len(l.keys) != 2 || l.order.Len() != 2 {
		t.Errorf("remembers %d keys, %d in order", len(l.keys), l.order.Len())
	}
}

func TestOverTheLimitSaysHowLongToWait(t *testing.T) {
	l := Limiter{PerMinute: 1, Now: func() time.Time { return time.Unix(0, 0) }}
	l.Allow("a")
	if wait, ok := l.Allow("a"); ok || Seconds(wait) != 60 {
		t.Errorf("allowed %v, wait %d s; want a refusal and 60", ok, Seconds(wait))
	}
}

func TestAskingHowLongToWaitCountsNothing(t *testing.T) {
	l := Limiter{PerMinute: 1, Now: func() time.Time { return time.Unix(0, 0) }}
	for range 3 {
		if wait := l.Wait("a"); wait != 0 {
			t.Errorf("before the first act: wait %v", wait)
		}
	}
	if _, ok := l.Allow("a"); !ok {
		t.Error("the first act was refused")
	}
	for range 3 {
		if wait := l.Wait("a"); wait != time.Minute {
			t.Errorf("after it: wait %v, want a minute", wait)
		}
	}
	if wait := new(Limiter).Wait("a"); wait != 0 {
		t.Errorf("without a limit: wait %v", wait)
	}
}
