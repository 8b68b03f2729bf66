package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"aldis/internal/httpd"
)

// tolerance is by how many seconds a call's timestamp may be off, either way:
// what Stripe's libraries and those of Standard Webhooks take.
const tolerance = 300

// tagged is what secrets of Standard Webhooks start with; base64 follows.
const tagged = "whsec_"

func errUnsigned(header string) error {
	return httpd.Statusf(http.StatusUnauthorized, "this webhook needs a signature, in the header %s", header)
}

func errForged() error {
	return httpd.Statusf(http.StatusUnauthorized, "the signature is not one of this webhook's secret and this body")
}

// verifyGitHub checks X-Hub-Signature-256: "sha256=" and the HMAC-SHA256 of the
// body in hex (docs.github.com, Validating webhook deliveries).
func verifyGitHub(secret string, h http.Header, body []byte, _ time.Time) (proof string, err error) {
	const header = "X-Hub-Signature-256"
	return verifyBody(secret, header, h.Get(header), body)
}

// verifyBody checks "sha256=HEX", or HEX alone, of the HMAC-SHA256 of a body.
func verifyBody(secret, header, signature string, body []byte) (proof string, err error) {
	if signature == "" {
		return "", errUnsigned(header)
	}
	got, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(signature), "sha256="))
	want := sign([]byte(secret), string(body))
	if err != nil || !hmac.Equal(got, want) {
		return "", errForged()
	}
	return hex.EncodeToString(want), nil
}

// verifyGitLab compares X-Gitlab-Token with the secret, or, where GitLab signs
// (with a "signing token"), checks that as Standard Webhooks have it
// (docs.gitlab.com, Webhooks). A signature that is there has to be right.
func verifyGitLab(secret string, h http.Header, body []byte, now time.Time) (proof string, err error) {
	if h.Get(standardSignature) != "" {
		return verifyStandard(secret, h, body, now)
	}
	token := h.Get("X-Gitlab-Token")
	if token == "" {
		return "", errUnsigned("X-Gitlab-Token, or a signing token")
	}
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return "", httpd.Statusf(http.StatusUnauthorized, "X-Gitlab-Token is not this webhook's secret")
	}
	return "", nil
}

// verifyStripe checks Stripe-Signature: "t=SECONDS,v1=HEX", with more than one
// v1 while a secret is rolled (docs.stripe.com, Verify webhook signatures
// manually). The whole secret is the key, whsec_ too.
func verifyStripe(secret string, h http.Header, body []byte, now time.Time) (proof string, err error) {
	const header = "Stripe-Signature"
	t, signatures := parseStripe(h.Get(header))
	if t == "" || len(signatures) == 0 {
		return "", errUnsigned(header)
	}
	want := sign([]byte(secret), t, ".", string(body))
	if !contains(signatures, want) {
		return "", errForged()
	}
	return hex.EncodeToString(want), checkTime(t, now)
}

// parseStripe returns the timestamp and the signatures of scheme v1.
func parseStripe(header string) (t string, signatures [][]byte) {
	for part := range strings.SplitSeq(header, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch key {
		case "t":
			t = value
		case "v1":
			if s, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, s)
			}
		}
	}
	return t, signatures
}

// verifyGeneric checks a call as Standard Webhooks have it, or else a signature
// of the body alone. Of the latter the event is part of the proof: two events
// may well have the same body.
func verifyGeneric(secret string, h http.Header, body []byte, now time.Time) (proof string, err error) {
	if h.Get(standardSignature) != "" {
		return verifyStandard(secret, h, body, now)
	}
	header, signature := first(h, "X-Signature-256", "X-Hub-Signature-256", "X-Signature")
	if signature == "" || standardContent.Match(body) {
		return "", errUnsigned("Webhook-Signature, X-Signature-256 or X-Signature")
	}
	proof, err = verifyBody(secret, header, signature, body)
	return genericEvent(h) + "\n" + proof, err
}

const standardSignature = "Webhook-Signature"

// standardContent is how the content that Standard Webhooks sign begins, with
// its id and timestamp. A signature of that is none of a body: it would be good
// for ever.
var standardContent = regexp.MustCompile(`^[\w.-]+\.\d{10}\.`)

// verifyStandard checks the headers webhook-id, webhook-timestamp (seconds) and
// webhook-signature: a list, parted by blanks, of "v1," and in base64 the
// HMAC-SHA256 of "ID.TIMESTAMP.BODY" (Standard Webhooks 1.0.0, Signature
// scheme). Signatures of other versions are passed over.
func verifyStandard(secret string, h http.Header, body []byte, now time.Time) (proof string, err error) {
	id, t := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	if id == "" || t == "" {
		return "", errUnsigned(standardSignature + ", with Webhook-Id and Webhook-Timestamp")
	}
	signatures := parseStandard(h.Get(standardSignature))
	for _, key := range standardKeys(secret) {
		if want := sign(key, id, ".", t, ".", string(body)); contains(signatures, want) {
			return hex.EncodeToString(want), checkTime(t, now)
		}
	}
	return "", errForged()
}

func parseStandard(header string) (signatures [][]byte) {
	for part := range strings.FieldsSeq(header) {
		coded, ok := strings.CutPrefix(part, "v1,")
		if s, err := base64.StdEncoding.DecodeString(coded); ok && err == nil {
			signatures = append(signatures, s)
		}
	}
	return signatures
}

// standardKeys are the keys that a secret may stand for: what it has in base64,
// and, where nothing says that it is base64, itself.
func standardKeys(secret string) (keys [][]byte) {
	coded, isTagged := strings.CutPrefix(secret, tagged)
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(coded, "="))
	if err == nil && len(key) > 0 {
		keys = append(keys, key)
	}
	if !isTagged {
		keys = append(keys, []byte(secret))
	}
	return keys
}

// checkTime fails if t, in seconds since 1970, is too far from now. It is for a
// t that was signed: nobody else is told how old it is.
func checkTime(t string, now time.Time) error {
	sec, err := strconv.ParseInt(t, 10, 64)
	if err != nil || sec < now.Unix()-tolerance || sec > now.Unix()+tolerance {
		return httpd.Statusf(http.StatusUnauthorized, "the signature's timestamp is more than %d seconds off", tolerance)
	}
	return nil
}

// sign returns the HMAC-SHA256 of what parts are together.
func sign(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		_, _ = mac.Write([]byte(p)) // never fails; package hash says so
	}
	return mac.Sum(nil)
}

// contains compares in constant time with each.
func contains(signatures [][]byte, want []byte) bool {
	found := false
	for _, s := range signatures {
		found = hmac.Equal(s, want) || found
	}
	return found
}
