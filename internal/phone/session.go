package phone

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// sessionTime is how long a cookie is good for.
const sessionTime = 12 * time.Hour

func cookieName(r *http.Request) string { return httpd.CookieName(r, "aldis_phone") }

// stamp is a cookie's value: when it ends, signed.
func (p *Phone) stamp(ends time.Time) string {
	s := strconv.FormatInt(ends.Unix(), 10)
	return s + "." + base64.RawURLEncoding.EncodeToString(p.sign(s))
}

func (p *Phone) sign(s string) []byte {
	h := hmac.New(sha256.New, p.Secret)
	h.Write([]byte("phone session|" + s)) // a hash never fails
	return h.Sum(nil)
}

func (p *Phone) genuine(stamp string) bool {
	s, signature, _ := strings.Cut(stamp, ".")
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(given, p.sign(s)) {
		return false
	}
	ends, err := strconv.ParseInt(s, 10, 64)
	return err == nil && p.Now().Before(time.Unix(ends, 0))
}

// isIn reports whether r carries a cookie of ours.
func (p *Phone) isIn(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	return err == nil && p.genuine(c.Value)
}

// session serves GET /phone/session: whether the browser is let in.
func (p *Phone) session(w http.ResponseWriter, r *http.Request) error {
	return httpd.WriteJSON(w, http.StatusOK, map[string]bool{"in": p.isIn(r)})
}

// enter serves POST /phone/session: the code is traded for a cookie, once.
func (p *Phone) enter(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Code string `json:"code"`
	}
	if err := readJSON(r, &in); err != nil {
		return err
	}
	if err := p.spend(in.Code); err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: p.stamp(p.Now().Add(sessionTime)), Path: "/phone",
		MaxAge: int(sessionTime / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// spend uses the code up, or fails with Denied.
func (p *Phone) spend(code string) error {
	given, want := sha256.Sum256([]byte(code)), sha256.Sum256([]byte(p.Code))
	if p.Code == "" || subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		return hub.Errorf(hub.Denied, "that is not the code of this demo: open the address that the terminal shows")
	}
	digest := hex.EncodeToString(want[:])
	return p.commit(func(s *state) (*line, error) {
		if s.spent == digest {
			return nil, hub.Errorf(hub.Denied, "this address was opened before, and works once: use the browser that opened it, or start the demo again")
		}
		return &line{Spent: digest}, nil
	})
}

// own lets through what pages of ours ask for.
func own(h httpd.Handler) httpd.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := httpd.OwnPage(r); err != nil {
			return err
		}
		return h(w, r)
	}
}

// inside is own, for those that have been let in.
func (p *Phone) inside(h httpd.Handler) httpd.Handler {
	return own(func(w http.ResponseWriter, r *http.Request) error {
		if !p.isIn(r) {
			return httpd.Statusf(http.StatusUnauthorized, "open the address that the terminal shows: it lets one browser in")
		}
		return h(w, r)
	})
}
