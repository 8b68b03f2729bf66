package hook

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	now    = time.Unix(1_790_000_000, 0)
	nowSec = strconv.FormatInt(now.Unix(), 10)
)

const (
	secret   = "It's a Secret to Everybody"
	whsec    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	testBody = `{"id":"evt_1","type":"invoice.paid"}`
)

// hexMAC and standardMAC sign as a provider does.
func hexMAC(key string, parts ...string) string {
	return hex.EncodeToString(sign([]byte(key), parts...))
}

func standardMAC(key []byte, parts ...string) string {
	return "v1," + base64.StdEncoding.EncodeToString(sign(key, parts...))
}

func whsecKey() []byte { return standardKeys(whsec)[0] }

func at(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }

// standard are the headers of a call that is signed as Standard Webhooks have it.
func standard(key []byte, id, t string) []string {
	return []string{"Webhook-Id", id, "Webhook-Timestamp", t, "Webhook-Signature", standardMAC(key, id, ".", t, ".", testBody)}
}

func stripe(t string, signatures ...string) []string {
	value := "t=" + t
	for _, s := range signatures {
		value += ",v1=" + s
	}
	return []string{"Stripe-Signature", value}
}

// The examples of the providers' own documents.
func TestPublishedExamples(t *testing.T) {
	// docs.github.com, Validating webhook deliveries, Testing the webhook payload validation
	if got := hexMAC(secret, "Hello, World!"); got != "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" {
		t.Errorf("GitHub: %s", got)
	}
	// Standard Webhooks, the test of its libraries
	const id, sec, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`
	h := headers("Webhook-Id", id, "Webhook-Timestamp", sec, "Webhook-Signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	for _, s := range []string{whsec, strings.TrimPrefix(whsec, tagged)} {
		if _, err := verifyStandard(s, h, []byte(body), time.Unix(1614265330, 0)); err != nil {
			t.Errorf("Standard Webhooks with %s: %v", s, err)
		}
	}
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestSignatures(t *testing.T) {
	body := hexMAC(secret, testBody)
	for _, tt := range []struct {
		name           string
		preset, secret string
		headers        []string
		fails          string // what it says; empty: it is good
	}{
		{"good", "github", secret, []string{"X-Hub-Signature-256", "sha256=" + body}, ""},
		{"missing", "github", secret, nil, "needs a signature"},
		{"the old SHA-1 alone", "github", secret, []string{"X-Hub-Signature", "sha1=00"}, "needs a signature"},
		{"wrong", "github", secret, []string{"X-Hub-Signature-256", "sha256=" + strings.Repeat("0", 64)}, "not one of"},
		{"another secret's", "github", secret, []string{"X-Hub-Signature-256", "sha256=" + hexMAC("other", testBody)}, "not one of"},
		{"cut short", "github", secret, []string{"X-Hub-Signature-256", "sha256=" + body[:62]}, "not one of"},
		{"empty", "github", secret, []string{"X-Hub-Signature-256", "sha256="}, "not one of"},
		{"not hex", "github", secret, []string{"X-Hub-Signature-256", "sha256=" + body[:63] + "x"}, "not one of"},
		{"two, of which the second is good", "github", secret, []string{"X-Hub-Signature-256", "sha256=00", "X-Hub-Signature-256", "sha256=" + body}, "not one of"},

		{"good token", "gitlab", secret, []string{"X-Gitlab-Token", secret}, ""},
		{"no token", "gitlab", secret, nil, "needs a signature"},
		{"wrong token", "gitlab", secret, []string{"X-Gitlab-Token", secret + "!"}, "not this webhook's"},
		{"signed", "gitlab", whsec, standard(whsecKey(), "m1", nowSec), ""},
		{"signed wrongly, with the right token", "gitlab", whsec, append(standard([]byte("other"), "m1", nowSec), "X-Gitlab-Token", whsec), "not one of"},

		{"good", "stripe", whsec, stripe(nowSec, hexMAC(whsec, nowSec, ".", testBody)), ""},
		{"two while the secret is rolled", "stripe", whsec, stripe(nowSec, hexMAC("old", nowSec, ".", testBody), hexMAC(whsec, nowSec, ".", testBody)), ""},
		{"missing", "stripe", whsec, nil, "needs a signature"},
		{"a test scheme alone", "stripe", whsec, []string{"Stripe-Signature", "t=" + nowSec + ",v0=" + hexMAC(whsec, nowSec, ".", testBody)}, "needs a signature"},
		{"no timestamp", "stripe", whsec, []string{"Stripe-Signature", "v1=" + body}, "needs a signature"},
		{"another secret's", "stripe", whsec, stripe(nowSec, hexMAC("other", nowSec, ".", testBody)), "not one of"},
		{"at the edge", "stripe", whsec, stripe(at(-300*time.Second), hexMAC(whsec, at(-300*time.Second), ".", testBody)), ""},
		{"stale", "stripe", whsec, stripe(at(-301*time.Second), hexMAC(whsec, at(-301*time.Second), ".", testBody)), "seconds off"},
		{"from the future", "stripe", whsec, stripe(at(301*time.Second), hexMAC(whsec, at(301*time.Second), ".", testBody)), "seconds off"},
		{"a fresh timestamp put on", "stripe", whsec, stripe(nowSec, hexMAC(whsec, at(-time.Hour), ".", testBody)), "not one of"},
		{"a fresh one beside the signed one", "stripe", whsec, []string{"Stripe-Signature", "t=" + nowSec + ",t=" + at(-time.Hour) + ",v1=" + hexMAC(whsec, at(-time.Hour), ".", testBody)}, "seconds off"},

		{"as Standard Webhooks have it", "generic", whsec, standard(whsecKey(), "m1", nowSec), ""},
		{"and with a secret as it stands", "generic", secret, standard([]byte(secret), "m1", nowSec), ""},
		{"a secret with its tag as the key", "generic", whsec, standard([]byte(whsec), "m1", nowSec), "not one of"},
		{"several", "generic", whsec, []string{
			"Webhook-Id", "m1", "Webhook-Timestamp", nowSec,
			"Webhook-Signature", "v1a,AAAA v1,!! " + standardMAC([]byte("old"), "m1.", nowSec, ".", testBody) + " " + standardMAC(whsecKey(), "m1.", nowSec, ".", testBody),
		}, ""},
		{"stale", "generic", whsec, standard(whsecKey(), "m1", at(-301*time.Second)), "seconds off"},
		{"a timestamp that is no number", "generic", whsec, standard(whsecKey(), "m1", "soon"), "seconds off"},
		{"a timestamp beyond all time", "generic", whsec, standard(whsecKey(), "m1", "-9223372036854775808"), "seconds off"},
		{"no id", "generic", whsec, []string{"Webhook-Timestamp", nowSec, "Webhook-Signature", standardMAC(whsecKey(), ".", nowSec, ".", testBody)}, "Webhook-Id"},
		{"another id put on", "generic", whsec, append([]string{"Webhook-Id", "m2"}, standard(whsecKey(), "m1", nowSec)[2:]...), "not one of"},
		{"a wrong one of these beside a good one of the body", "generic", secret, append(standard([]byte("other"), "m1", nowSec), "X-Signature", body), "not one of"},
		{"of the body", "generic", secret, []string{"X-Signature-256", "sha256=" + body}, ""},
		{"of the body, bare", "generic", secret, []string{"X-Signature", strings.ToUpper(body)}, ""},
		{"of the body, as GitHub does", "generic", secret, []string{"X-Hub-Signature-256", "sha256=" + body}, ""},
		{"missing", "generic", secret, nil, "needs a signature"},
		{"another secret's", "generic", secret, []string{"X-Signature", hexMAC("other", testBody)}, "not one of"},
	} {
		t.Run(tt.preset+" "+tt.name, func(t *testing.T) {
			h := headers(tt.headers...)
			proof, err := presets[tt.preset].verify(tt.secret, h, []byte(testBody), now)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("it says %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if isToken := h.Get("X-Gitlab-Token") != ""; (proof == "") != isToken {
				t.Errorf("proof %q", proof)
			}
			if h.Get("X-Gitlab-Token") != "" {
				return // says nothing of the body
			}
			for i := range testBody {
				changed := []byte(testBody)
				changed[i] ^= 1
				if _, err := presets[tt.preset].verify(tt.secret, h, changed, now); err == nil {
					t.Fatalf("byte %d may be changed", i)
				}
			}
		})
	}
}

func FuzzStripeSignature(f *testing.F) {
	f.Add("t=1790000000,v1=00,v1=,v0=x,=,t")
	f.Fuzz(func(t *testing.T, header string) { wantForged(t, "stripe", headers("Stripe-Signature", header)) })
}

func FuzzStandardSignature(f *testing.F) {
	f.Add("m1", "1790000000", "v1,AAAA v1a,x  v1, v1")
	f.Fuzz(func(t *testing.T, id, sec, header string) {
		wantForged(t, "generic", headers("Webhook-Id", id, "Webhook-Timestamp", sec, "Webhook-Signature", header))
	})
}

func FuzzBodySignature(f *testing.F) {
	f.Add("sha256=00")
	f.Add("sha256=sha256=")
	f.Fuzz(func(t *testing.T, header string) {
		wantForged(t, "github", headers("X-Hub-Signature-256", header))
		wantForged(t, "generic", headers("X-Signature", header))
	})
}

// wantForged checks that whoever has no secret can make up no signature.
func wantForged(t *testing.T, preset string, h http.Header) {
	t.Helper()
	if _, err := presets[preset].verify(whsec, h, []byte(testBody), now); err == nil {
		t.Errorf("%s takes %v", preset, h)
	}
}
