package httpd

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Limiter bounds how often each key may act. Its memory is bounded: past Keys
// the key that was longest not seen is forgotten, which after a minute of
// silence changes nothing, for it would have had its full burst again.
type Limiter struct {
	// set before use
	PerMinute int              // that many a minute, and as many at once; zero: no limit
	Keys      int              // remembered; zero: 4,096
	Now       func() time.Time // nil: time.Now

	// guarded by mu
	mu    sync.Mutex
	keys  map[string]*list.Element
	order list.List // of *bucket, the latest seen in front
}

type bucket struct {
	key string
	lim *rate.Limiter
}

// Allow counts one act of key. If it was one too many, it is not counted, and
// Allow returns how long to wait.
func (l *Limiter) Allow(key string) (wait time.Duration, ok bool) {
	if l.PerMinute <= 0 {
		return 0, true
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.bucket(key).ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// Wait returns how long key has to wait until it may act; zero: it may now. It
// counts nothing.
func (l *Limiter) Wait(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.keys[key]
	if !ok || l.PerMinute <= 0 {
		return 0
	}
	now := l.now()
	r := e.Value.(*bucket).lim.ReserveN(now, 1)
	defer r.CancelAt(now)
	return r.DelayFrom(now)
}

// Seconds returns d in whole seconds, rounded up: what Retry-After takes.
func Seconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}

// bucket returns key's, and makes room for a new one. l.mu is held.
func (l *Limiter) bucket(key string) *rate.Limiter {
	if e, ok := l.keys[key]; ok {
		l.order.MoveToFront(e)
		return e.Value.(*bucket).lim
	}
	if l.keys == nil {
		l.keys = map[string]*list.Element{}
	}
	if len(l.keys) >= l.bound() {
		oldest := l.order.Remove(l.order.Back()).(*bucket)
		delete(l.keys, oldest.key)
	}
	b := &bucket{key, rate.NewLimiter(rate.Limit(float64(l.PerMinute)/60), l.PerMinute)}
	l.keys[key] = l.order.PushFront(b)
	return b.lim
}

func (l *Limiter) bound() int {
	if l.Keys > 0 {
		return l.Keys
	}
	return 4096
}

func (l *Limiter) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}
