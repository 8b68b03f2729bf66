package auth

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	keysFresh = 10 * time.Minute // that keys are used without asking again
	keysKept  = 24 * time.Hour   // that they are used while the issuer is out
	askPause  = 10 * time.Second // until the issuer is asked again
	askFirst  = time.Second      // the same when it has failed; doubles up to askLast
	askLast   = time.Minute
	askTime   = 5 * time.Second // for all that it is asked at a time
)

// A keySet has the keys of an issuer, and asks for them: first when they are
// needed, then now and then, and for a token whose key is not among them.
type keySet struct {
	issuer   string
	client   *http.Client
	patience time.Duration
	log      *slog.Logger
	now      func() time.Time

	kept   atomic.Pointer[keys] // nil: none that may be used
	asking chan struct{}        // holds one while somebody asks the issuer, for all who wait

	// guarded by asking
	next     time.Time // when it may be asked again
	failures int       // since it last answered
}

func newKeySet(o ResourceOptions) *keySet {
	return &keySet{
		issuer: o.Issuer, log: o.Log, now: o.Now, patience: askTime,
		client: &http.Client{CheckRedirect: stay},
		asking: make(chan struct{}, 1),
	}
}

// verify checks a token's signature. A key that is not among those kept may be
// a new one: unless the issuer can be asked for it, the answer is 503.
func (s *keySet) verify(ctx context.Context, token *jwt.JSONWebToken) *refusal {
	set := s.current(ctx)
	switch set.check(token) {
	case signed:
		return nil
	case forged:
		return errForged
	}
	set, wait := s.newer(ctx, set)
	if set == nil {
		return &refusal{http.StatusServiceUnavailable, "", "the issuer of tokens can not be asked now: try again in " + seconds(wait) + " seconds", wait}
	}
	if set.check(token) != signed {
		return errForged
	}
	return nil
}

var errForged = invalid("the token's signature is not one of the issuer's")

// current returns the keys that are kept. One request of those that find them
// old asks for new ones; the others, and this one if that fails, go on with the
// old, for as long as a key that was withdrawn may be mistaken for good.
func (s *keySet) current(ctx context.Context) *keys {
	set := s.kept.Load()
	if set == nil || s.now().Sub(set.at) <= keysFresh {
		return set
	}
	select {
	case s.asking <- struct{}{}:
		_, _ = s.ask(ctx, set) // it has logged that it failed
		<-s.asking
	default:
	}
	if s.now().Sub(set.at) > keysKept {
		s.kept.CompareAndSwap(set, nil)
	}
	return s.kept.Load()
}

// newer returns keys that came after old, or how long to wait for them.
func (s *keySet) newer(ctx context.Context, old *keys) (*keys, time.Duration) {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
		return s.ask(ctx, old)
	case <-ctx.Done():
		return nil, askFirst
	}
}

// ask asks the issuer, unless somebody has while we waited, or it is too early.
// A caller that hangs up does not break it off for those who wait. s.asking is
// held.
func (s *keySet) ask(ctx context.Context, old *keys) (*keys, time.Duration) {
	if set := s.kept.Load(); set != old {
		return set, 0
	}
	if wait := s.next.Sub(s.now()); wait > 0 {
		return nil, wait
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	list, err := s.fetch(ctx)
	if err != nil {
		return nil, s.failed(err)
	}
	if s.failures > 0 {
		s.log.Info("the issuer of tokens is back", "issuer", s.issuer)
	}
	s.failures, s.next = 0, s.now().Add(askPause)
	set := &keys{list, s.now()}
	s.kept.Store(set)
	return set, 0
}

// failed returns after which time to ask again. A row of failures is logged once.
func (s *keySet) failed(err error) time.Duration {
	if s.failures == 0 {
		s.log.Warn("the issuer of tokens can not be used; whoever needs it is answered 503", "issuer", s.issuer, "err", err)
	} else {
		s.log.Debug("the issuer of tokens can still not be used", "issuer", s.issuer, "err", err)
	}
	pause := min(askFirst<<min(s.failures, 10), askLast)
	s.failures++
	s.next = s.now().Add(pause)
	return pause
}

// keys are those that an issuer signed with at a time.
type keys struct {
	list []jose.JSONWebKey
	at   time.Time
}

type verdict int

const (
	unknown verdict = iota // none of the keys is the token's
	signed
	forged // it names one of the keys, which did not sign it
)

// check looks for the key that has signed token. None are in nil. A token that
// names no key may be signed by any of them.
func (k *keys) check(token *jwt.JSONWebToken) verdict {
	if k == nil {
		return unknown
	}
	h, v := token.Headers[0], unknown
	for _, key := range k.list {
		if h.KeyID != "" && key.KeyID != h.KeyID || key.Algorithm != "" && key.Algorithm != h.Algorithm {
			continue
		}
		if token.Claims(key.Key) == nil {
			return signed
		}
		if h.KeyID != "" {
			v = forged
		}
	}
	return v
}
