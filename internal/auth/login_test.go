package auth

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aldis/internal/hub"
)

// A folder keeps files as the state folder does, until its disk is full.
type folder struct {
	dir  string
	full bool
}

func (f *folder) Path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) WriteFile(name string, data []byte) error {
	if f.full {
		return hub.Errorf(hub.Unavailable, "write %s: no space left", name)
	}
	return os.WriteFile(f.Path(name), data, 0o600)
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// A desk is a hub's logins, and the clock that they go by.
type desk struct {
	*Logins
	t      *testing.T
	folder *folder
	clock  time.Time
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, folder: &folder{dir: t.TempDir()}, clock: noon}
	d.restart("admin-token")
	return d
}

func (d *desk) restart(admin string) {
	d.t.Helper()
	var err error
	if d.Logins, err = OpenLogins(d.folder, admin, func() time.Time { return d.clock }); err != nil {
		d.t.Fatal(err)
	}
}

// from is a request as a page of ours sends it.
func from(method, cookie string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:8765/login", nil)
	r.Header.Set("Origin", "http://127.0.0.1:8765")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	return r
}

// logIn returns the cookie that a browser which has one may get.
func (d *desk) logIn(has string) string {
	d.t.Helper()
	w := httptest.NewRecorder()
	if err := d.LogIn(w, from("POST", has), "admin-token"); err != nil {
		d.t.Fatal(err)
	}
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	return cookie
}

func (d *desk) wants(cookie string, in bool, when string) {
	d.t.Helper()
	if got := d.In(from("GET", cookie)); got != in {
		d.t.Errorf("%s: in is %v, want %v", when, got, in)
	}
}

func TestALoginLastsTwelveHoursAndOverARestart(t *testing.T) {
	d := newDesk(t)
	d.wants("", false, "without a cookie")
	c := d.logIn("")
	d.wants(c, true, "at once")
	d.restart("admin-token")
	d.wants(c, true, "after a restart")
	d.clock = noon.Add(loginTime - time.Second)
	d.wants(c, true, "just before its end")
	d.clock = noon.Add(loginTime)
	d.wants(c, false, "at its end")
}

func TestANewAdminTokenEndsAllLogins(t *testing.T) {
	d := newDesk(t)
	c := d.logIn("")
	d.restart("another-token")
	d.wants(c, false, "under another token")
}

func TestLoggingOutEndsEachCookieOfThatBrowserForGood(t *testing.T) {
	d := newDesk(t)
	other := d.logIn("")
	first := d.logIn("")
	d.clock = noon.Add(time.Hour)
	second := d.logIn(first)
	if first == second {
		t.Fatal("the second login gave the cookie of the first")
	}
	w := httptest.NewRecorder()
	if err := d.LogOut(w, from("POST", second)); err != nil {
		t.Fatal(err)
	}
	if got := w.Header().Get("Set-Cookie"); !strings.Contains(got, "Max-Age=0") {
		t.Errorf("the browser is told %q, want it to forget the cookie", got)
	}
	for _, when := range []string{"at once", "after a restart"} {
		d.wants(first, false, "the first, "+when)
		d.wants(second, false, "the second, "+when)
		d.wants(other, true, "another browser's, "+when)
		d.restart("admin-token")
	}
	d.wants(d.logIn(second), true, "logged in again")
}

func TestALogoutThatCannotBeKeptIsNone(t *testing.T) {
	d := newDesk(t)
	c := d.logIn("")
	d.folder.full = true
	w := httptest.NewRecorder()
	if err := d.LogOut(w, from("POST", c)); hub.KindOf(err) != hub.Unavailable || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("logging out: %v and %q, want Unavailable and the cookie kept", err, w.Header())
	}
}

func TestWhoHasLoggedOutIsForgottenOnceItDoesNotMatter(t *testing.T) {
	d := newDesk(t)
	for range 3 {
		if err := d.LogOut(httptest.NewRecorder(), from("POST", d.logIn(""))); err != nil {
			t.Fatal(err)
		}
		d.clock = d.clock.Add(loginTime + time.Second)
	}
	if n := len(d.file.Out); n != 1 {
		t.Errorf("%d browsers are remembered, want the last alone", n)
	}
}

func TestTheCookieIsOutOfReach(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		prefix string
		secure bool
	}{
		{"in the clear", func(*http.Request) {}, "aldis_admin_8765=", false},
		{"over TLS", func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, "aldis_admin_8765=", true},
		{"behind a proxy", func(r *http.Request) {
			r.Host = "hub.example"
			r.Header.Set("Origin", "https://hub.example")
		}, "aldis_admin_default=", true},
	} {
		w, r := httptest.NewRecorder(), from("POST", "")
		tt.change(r)
		if err := newDesk(t).LogIn(w, r, "admin-token"); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := w.Header().Get("Set-Cookie")
		if !strings.HasPrefix(got, tt.prefix) || strings.Contains(got, "Secure") != tt.secure || strings.Contains(got, "admin-token") {
			t.Errorf("%s: %q, want it to begin with %s, Secure: %v, and no token", tt.name, got, tt.prefix, tt.secure)
		}
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Max-Age=43200", "Path=/"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q has no %s", tt.name, got, want)
			}
		}
	}
}

func TestAttackAForgedCookie(t *testing.T) {
	d := newDesk(t)
	good := d.logIn("")
	name, value, _ := strings.Cut(good, "=")
	parts := strings.Split(value, ".")
	for what, forged := range map[string]string{
		"a later end":          parts[0] + ".99999999999." + parts[2],
		"another browser":      "X" + parts[0] + "." + parts[1] + "." + parts[2],
		"no signature":         parts[0] + "." + parts[1] + ".",
		"more after it":        value + ".x",
		"the end spelled anew": parts[0] + ".+" + parts[1] + "." + parts[2],
		"nothing":              "",
		"the token":            "admin-token",
	} {
		d.wants(name+"="+forged, false, what)
	}
	other := newDesk(t) // another hub, with another key
	other.wants(good, false, "another hub's")
}

// Cookies are a host's: what else runs there can set one that comes first.
func TestAttackACookieInFrontOfOurs(t *testing.T) {
	d := newDesk(t)
	good := d.logIn("")
	name, _, _ := strings.Cut(good, "=")
	both := name + "=x; " + good
	d.wants(both, true, "behind a stranger's")
	if err := d.LogOut(httptest.NewRecorder(), from("POST", both)); err != nil {
		t.Fatal(err)
	}
	d.wants(both, false, "once logged out")
}

func TestAttackALoginFromElsewhere(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"another site":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port":      func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"no page that says": func(r *http.Request) { r.Header.Del("Origin") },
	} {
		d, r, w := newDesk(t), from("POST", ""), httptest.NewRecorder()
		change(r)
		if err := d.LogIn(w, r, "admin-token"); hub.KindOf(err) != hub.Denied || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %v, want Denied", name, err)
		}
	}
}

func TestAttackGuessesAreFew(t *testing.T) {
	d := newDesk(t)
	try := func(addr, token string) error {
		r := from("POST", "")
		r.RemoteAddr = addr
		return d.LogIn(httptest.NewRecorder(), r, token)
	}
	for range loginAttempts {
		if err := try("[2001:db8::1]:1", "guess"); hub.KindOf(err) != hub.Denied {
			t.Fatalf("a wrong token: %v, want Denied", err)
		}
	}
	if err := try("[2001:db8::2]:2", "admin-token"); hub.KindOf(err) != hub.Limited {
		t.Errorf("from the same network: %v, want Limited", err)
	}
	if err := try("192.0.2.7:1", "admin-token"); err != nil {
		t.Errorf("from another: %v", err)
	}
	d.clock = d.clock.Add(time.Minute)
	if err := try("[2001:db8::1]:1", "admin-token"); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

func TestAnEmptyAdminTokenLogsNobodyIn(t *testing.T) {
	d := newDesk(t)
	d.restart("")
	if err := d.LogIn(httptest.NewRecorder(), from("POST", ""), ""); hub.KindOf(err) != hub.Denied {
		t.Errorf("got %v, want Denied", err)
	}
}

func TestADamagedLoginFileIsNamed(t *testing.T) {
	f := &folder{dir: t.TempDir()}
	for _, text := range []string{"{", "{}", `{"key":"AAAA"}`} {
		if err := f.WriteFile(loginFile, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLogins(f, "admin-token", time.Now); err == nil || !strings.Contains(err.Error(), f.Path(loginFile)) {
			t.Errorf("%s: %v, want an error that names the file", text, err)
		}
	}
	if _, err := OpenLogins(&folder{dir: t.TempDir(), full: true}, "admin-token", time.Now); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a disk to write to: %v", err)
	}
}
