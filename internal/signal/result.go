package signal

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"aldis/internal/hub"
)

// How long sending pauses when Signal does not say how long it should.
const (
	challengePause = 5 * time.Minute // it wants a captcha solved
	rateLimitPause = time.Minute
)

// A pause is a time in which nothing is sent: each attempt makes it longer.
type pause struct {
	until  time.Time
	advice string // for the operator
}

// errNoMethod means that the daemon is too old for a method, or was started
// for one account.
var errNoMethod = errors.New("the daemon has no such method")

// outcome says what the daemon's answer to a send means.
func (c *Client) outcome(o outgoing, f frame) (hub.Sent, error) {
	var r sendResult
	var refused error
	if f.Error != nil {
		var data struct {
			Response sendResult `json:"response"`
		}
		_ = json.Unmarshal(f.Error.Data, &data) // null or of another shape: no results
		r, refused = data.Response, refusal(o.method, f.Error)
	} else if err := json.Unmarshal(f.Result, &r); err != nil {
		return hub.Sent{Unknown: true}, nil
	}
	c.learnFrom(r.Results)
	s, failed := tally(r.Results)
	if r.Timestamp > 0 {
		s.Refs = []hub.Ref{{Platform: ID, Chat: o.chat, Key: strconv.FormatInt(r.Timestamp, 10)}}
	}
	limited := c.limit(f.Error, r.Results)
	switch {
	case s.Reached > 0, s.Unknown, refused == nil && failed == nil:
		return s, nil
	case limited != nil:
		return s, limited
	case failed != nil:
		return s, failed
	default:
		return s, refused
	}
}

func (c *Client) learnFrom(results []recipientResult) {
	for _, r := range results {
		if r.Type == "SUCCESS" {
			c.people.learn(r.Address, "")
		}
	}
}

// A failure is what a type of result means for an agent.
type failure struct {
	kind   hub.Kind
	reason string
}

// failures are the types of signal-cli's results, but for SUCCESS.
var failures = map[string]failure{
	"NETWORK_FAILURE":         {hub.Unavailable, "the network failed; it may have arrived all the same"},
	"UNREGISTERED_FAILURE":    {hub.NotFound, "not registered with Signal"},
	"IDENTITY_FAILURE":        {hub.Denied, "the safety number has changed and is not trusted: the operator has to check it and run signal-cli trust"},
	"RATE_LIMIT_FAILURE":      {hub.Limited, "Signal limits the rate of messages"},
	"INVALID_PRE_KEY_FAILURE": {hub.Unavailable, "the recipient's keys are not valid; the recipient has to open Signal"},
}

// tally reads results. When nobody was reached, a failed network leaves the
// outcome unknown: the server may have had the message before it went away.
// The error is that of the first failure.
func tally(results []recipientResult) (hub.Sent, error) {
	var s hub.Sent
	var first error
	for _, r := range results {
		if r.Type == "SUCCESS" {
			s.Reached++
		}
	}
	for _, r := range results {
		if r.Type == "SUCCESS" {
			continue
		}
		if r.Type == "NETWORK_FAILURE" && s.Reached == 0 {
			s.Unknown = true
			continue
		}
		f, ok := failures[r.Type]
		if !ok {
			f = failure{hub.Unavailable, "signal-cli says " + hub.OneLine(r.Type, 60)}
		}
		s.Failed = append(s.Failed, hub.Failure{Recipient: r.Address.label(), Reason: f.reason})
		if first == nil {
			first = hub.Errorf(f.kind, "nobody was reached: %s", f.reason)
		}
	}
	return s, first
}

// label is how a recipient is named to an agent.
func (a address) label() string { return cmp.Or(a.Number, a.UUID, a.Username, "unknown recipient") }

// limit pauses sending if an answer shows that Signal asks for that.
func (c *Client) limit(e *rpcError, results []recipientResult) error {
	var hit *recipientResult
	for i, r := range results {
		if r.Type == "RATE_LIMIT_FAILURE" && (hit == nil || r.Token != "") {
			hit = &results[i]
		}
	}
	if hit == nil && (e == nil || e.Code != codeRateLimit) {
		return nil
	}
	if hit == nil {
		hit = &recipientResult{}
	}
	wait := rateLimitPause
	if hit.Token != "" {
		wait = challengePause
	}
	if hit.RetryAfter > 0 {
		wait = time.Duration(min(hit.RetryAfter, 7*24*3600)) * time.Second
	}
	c.pauseUntil(c.Now().Add(wait), hit.Token)
	return c.paused()
}

// pauseUntil stops all sending for a time. Only the operator hears the token.
func (c *Client) pauseUntil(t time.Time, token string) {
	advice := "Signal limits the rate of messages; nothing is sent until " + t.UTC().Format(time.RFC3339)
	if token != "" {
		advice = "Signal asks for a captcha; nothing is sent until " + t.UTC().Format(time.RFC3339) +
			". Solve https://signalcaptchas.org/challenge/generate.html and run: signal-cli -a " + c.Account +
			" submitRateLimitChallenge --challenge " + token + " --captcha CAPTCHA"
	}
	c.mu.Lock()
	if t.After(c.pause.until) {
		c.pause = pause{until: t, advice: advice}
	}
	c.mu.Unlock()
	c.Log.Warn("sending paused", "platform", ID, "until", t, "captcha", token != "")
}

// paused returns the error for a send while sending is paused.
func (c *Client) paused() error {
	c.mu.Lock()
	until := c.pause.until
	c.mu.Unlock()
	if !c.Now().Before(until) {
		return nil
	}
	return hub.Errorf(hub.Limited, "sending over Signal is paused until %s, since Signal limits it: "+
		"do not repeat it before; the operator sees in aldis status what can be done", until.UTC().Format(time.RFC3339))
}

// Codes of the daemon's errors (signal-cli-jsonrpc(5), measured on 0.13.19).
const (
	codeUser      = -1
	codeIO        = -3
	codeUntrusted = -4
	codeRateLimit = -5
	codeCaptcha   = -6
	codeNoMethod  = -32601
	codeAccount   = -32602
)

var phoneNumber = regexp.MustCompile(`\+[0-9]{5,}`)

// refusal is the daemon's error as the one who asked can use it.
func refusal(method string, e *rpcError) error {
	// It may quote a number, and the error may end in a log.
	said := hub.OneLine(phoneNumber.ReplaceAllString(e.Message, "(number)"), 300)
	switch e.Code {
	case codeUser:
		if strings.HasPrefix(said, "Group not found") {
			return hub.Errorf(hub.NotFound, "Signal knows no such group, or the account is not in it: see list_chats")
		}
		return hub.Errorf(hub.Invalid, "signal-cli refused it: %s", said)
	case codeIO:
		return hub.Errorf(hub.Unavailable, "signal-cli can't reach Signal, try again later: %s", said)
	case codeUntrusted:
		return hub.Errorf(hub.Denied, "the recipient's safety number has changed and is not trusted: the operator has to check it and run signal-cli trust")
	case codeRateLimit, codeCaptcha:
		return hub.Errorf(hub.Limited, "Signal limits the rate of messages: %s", said)
	case codeNoMethod:
		return &hub.Error{Kind: hub.Unavailable, Msg: "this version of signal-cli can't do " + method + ": the operator has to update it", Err: errNoMethod}
	case codeAccount:
		return hub.Errorf(hub.Unavailable, "signal-cli does not hold the account of --account: the operator has to register or link it, or correct the setting (%s)", said)
	default:
		return hub.Errorf(hub.Unavailable, "signal-cli could not do it: %s", said)
	}
}
