package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

const (
	loginFile     = "login.json"
	loginTime     = 12 * time.Hour // that a cookie is good for
	loginAttempts = 10             // a minute and address
)

// A Folder keeps small files that nobody else can read; a store.Dir is one.
type Folder interface {
	Path(name string) string
	WriteFile(name string, data []byte) error // whole or not at all
}

// Logins are the browsers in which the admin has logged in. A browser holds a
// cookie with a name of its own and when it ends, signed: with a key in the
// state folder, so that it outlives a restart, and with the admin's token, so
// that a new token ends all.
type Logins struct {
	folder Folder
	admin  string // token
	key    []byte // that cookies are signed with
	limit  httpd.Limiter
	now    func() time.Time

	mu   sync.Mutex // held while the file is written, so that it is in order
	file loginState // guarded by mu
}

// loginState is what the file has.
type loginState struct {
	Key []byte               `json:"key"`
	Out map[string]time.Time `json:"logged_out"` // browsers, and when the last of their cookies would have ended
}

// OpenLogins reads who has logged out from folder. The first call makes the key.
func OpenLogins(folder Folder, adminToken string, now func() time.Time) (*Logins, error) {
	l := &Logins{folder: folder, admin: adminToken, limit: httpd.Limiter{PerMinute: loginAttempts, Now: now}, now: now}
	b, err := os.ReadFile(folder.Path(loginFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.file.Key = make([]byte, 32)
		_, _ = rand.Read(l.file.Key) // never fails; crypto/rand says so
		err = l.save()
	case err == nil:
		if err = json.Unmarshal(b, &l.file); err != nil || len(l.file.Key) < 32 {
			return nil, fmt.Errorf("read %s: it is damaged; remove it, and everybody has to log in again", folder.Path(loginFile))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep the key of logins: %w", err)
	}
	hash := Hash(adminToken)
	l.key = sign(l.file.Key, "admin login", hash[:])
	if l.file.Out == nil {
		l.file.Out = map[string]time.Time{}
	}
	return l, nil
}

// save writes the file. l.mu is held, or nobody else has l yet.
func (l *Logins) save() error {
	b, err := json.Marshal(l.file)
	if err != nil {
		return err
	}
	return l.folder.WriteFile(loginFile, b)
}

// LogIn gives the browser that sent r a cookie in exchange for the admin's
// token. It fails with Denied for another token or page, and with Limited after
// ten attempts a minute from one address.
func (l *Logins) LogIn(w http.ResponseWriter, r *http.Request, token string) error {
	if err := httpd.OwnPage(r); err != nil {
		return err
	}
	if wait, ok := l.limit.Allow(network(r.RemoteAddr)); !ok {
		w.Header().Set("Retry-After", strconv.Itoa(httpd.Seconds(wait)))
		return hub.Errorf(hub.Limited, "too many attempts: try again in %d seconds", httpd.Seconds(wait))
	}
	if equal(Hash(token), l.admin) != 1 || l.admin == "" {
		return hub.Errorf(hub.Denied, "this is not the admin's token")
	}
	browser, in := l.browser(r)
	if !in { // else logging out is to end the cookie that it has, too
		browser = rand.Text()
	}
	http.SetCookie(w, cookie(r, l.stamp(browser, l.now().Add(loginTime)), int(loginTime/time.Second)))
	return nil
}

// LogOut ends every cookie of the browser that sent r, over restarts too. It
// fails with Denied for another page, and with Unavailable if that can't be kept.
func (l *Logins) LogOut(w http.ResponseWriter, r *http.Request) error {
	if err := httpd.OwnPage(r); err != nil {
		return err
	}
	if browser, in := l.browser(r); in {
		if err := l.end(browser); err != nil {
			return err
		}
	}
	http.SetCookie(w, cookie(r, "", -1))
	return nil
}

func (l *Logins) end(browser string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.file.Out, func(_ string, ends time.Time) bool { return l.now().After(ends) })
	l.file.Out[browser] = l.now().Add(loginTime)
	return l.save()
}

// In reports whether r comes from a browser in which the admin has logged in.
func (l *Logins) In(r *http.Request) bool {
	_, in := l.browser(r)
	return in
}

// browser returns the name in the first good cookie of r. Whatever else runs on
// this host may have set one of the same name that comes before ours.
func (l *Logins) browser(r *http.Request) (name string, in bool) {
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if name, in = l.check(c.Value); in {
			break
		}
	}
	return name, in
}

// check returns the name in a cookie, if that is good.
func (l *Logins) check(value string) (name string, in bool) {
	name, rest, _ := strings.Cut(value, ".")
	ends, _, _ := strings.Cut(rest, ".")
	at, err := strconv.ParseInt(ends, 10, 64)
	if err != nil || !hmac.Equal([]byte(value), []byte(l.stamp(name, time.Unix(at, 0)))) || !l.now().Before(time.Unix(at, 0)) {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, out := l.file.Out[name]
	return name, !out
}

// stamp is a cookie's value.
func (l *Logins) stamp(browser string, ends time.Time) string {
	s := browser + "." + strconv.FormatInt(ends.Unix(), 10)
	return s + "." + base64.RawURLEncoding.EncodeToString(sign(l.key, s, nil))
}

func sign(key []byte, text string, more []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // a hash never fails
	h.Write(more)
	return h.Sum(nil)
}

// cookie may be sent in the clear only if it came so. Where a proxy has ended
// TLS, the page's Origin says how the browser came, and [httpd.Guard] has
// checked that.
func cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	}
}

func cookieName(r *http.Request) string { return httpd.CookieName(r, "aldis_admin") }

// network is whom the attempts from an address count for: whoever has one IPv6
// address has 2^64 of them.
func network(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Unmap().Is4() {
		return host
	}
	net64, _ := ip.Prefix(64) // any IPv6 address has that
	return net64.String()
}
