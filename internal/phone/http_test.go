package phone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

// serve serves p as the hub does, and returns the address.
func serve(t *testing.T, p *Phone) *url.URL {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/phone", p.Handler())
	mux.Handle("/phone/", p.Handler())
	mux.Handle("POST /phone/received", httpd.Handle(p.Log, p.Received))
	s := httptest.NewUnstartedServer(nil)
	u := &url.URL{Scheme: "http", Host: s.Listener.Addr().String()}
	s.Config.Handler = httpd.Guard(slog.New(slog.DiscardHandler), httpd.NewHosts(u.Hostname(), u.Port(), nil), httpd.MaxBody, mux)
	s.Start()
	t.Cleanup(s.Close)
	return u
}

// A browser is one that has, or has not, been let in.
type browser struct {
	t      *testing.T
	base   *url.URL
	cookie string            // NAME=VALUE; empty: none
	header map[string]string // sent beside what browsers send
}

// do sends a request as a page of ours does, and returns the answer with its
// body read.
func (b browser) do(method, path, body string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base.String()+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Origin", b.base.String())
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	for k, v := range b.header {
		r.Header.Set(k, v)
		if v == "" {
			r.Header.Del(k)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(text)
}

func (b browser) wants(status int, method, path, body string) {
	b.t.Helper()
	if resp, text := b.do(method, path, body); resp.StatusCode != status {
		b.t.Errorf("%s %s = %d %s, want %d", method, path, resp.StatusCode, text, status)
	}
}

// letIn returns a browser with a cookie that p has signed.
func letIn(t *testing.T, p *Phone, base *url.URL) browser {
	return browser{t: t, base: base, cookie: "aldis_phone_" + base.Port() + "=" + p.stamp(p.Now().Add(time.Hour))}
}

func TestTheCodeWorksOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "phone")
	p := newPhone(t, path)
	b := browser{t: t, base: serve(t, p)}
	b.wants(http.StatusForbidden, "POST", "/phone/session", `{"code":"a guess"}`)
	b.wants(http.StatusForbidden, "POST", "/phone/session", `{}`)
	resp, _ := b.do("POST", "/phone/session", `{"code":"open sesame"}`)
	if resp.StatusCode != http.StatusNoContent || len(resp.Cookies()) != 1 {
		t.Fatalf("the code: %d, cookies %v", resp.StatusCode, resp.Cookies())
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 12*60*60 || c.Path != "/phone" || c.Name != "aldis_phone_"+b.base.Port() {
		t.Errorf("cookie %v", c)
	}
	b.wants(http.StatusForbidden, "POST", "/phone/session", `{"code":"open sesame"}`)

	// The hub is killed and started again, on the same port.
	again := newPhone(t, path)
	b.base = serve(t, again)
	b.wants(http.StatusForbidden, "POST", "/phone/session", `{"code":"open sesame"}`)
	b.cookie = "aldis_phone_" + b.base.Port() + "=" + c.Value
	if _, text := b.do("GET", "/phone/session", ""); text != `{"in":true}`+"\n" {
		t.Errorf("after the restart: %s", text)
	}

	fresh := newPhone(t, path)
	fresh.Code = "another start's"
	browser{t: t, base: serve(t, fresh)}.wants(http.StatusNoContent, "POST", "/phone/session", `{"code":"another start's"}`)
}

func TestCookiesAreRefused(t *testing.T) {
	p := newPhone(t, "")
	run(t, p, &recorder{})
	base := serve(t, p)
	good := p.stamp(noon.Add(time.Minute))
	other := &Phone{Secret: []byte("another"), Now: p.Now}
	for name, value := range map[string]string{
		"none":                    "",
		"empty":                   "aldis_phone_" + base.Port() + "=",
		"expired":                 "aldis_phone_" + base.Port() + "=" + p.stamp(noon),
		"signed by somebody":      "aldis_phone_" + base.Port() + "=" + other.stamp(noon.Add(time.Minute)),
		"longer than it was":      "aldis_phone_" + base.Port() + "=9" + good,
		"without its signature":   "aldis_phone_" + base.Port() + "=" + strings.Split(good, ".")[0],
		"of a demo on port 1":     "aldis_phone_1=" + good,
		"of no number, signed":    "aldis_phone_" + base.Port() + "=x." + strings.Split(good, ".")[1],
		"with a signature cut":    "aldis_phone_" + base.Port() + "=" + good[:len(good)-2],
		"with a signature no b64": "aldis_phone_" + base.Port() + "=" + good + "!",
	} {
		t.Run(name, func(t *testing.T) {
			b := browser{t: t, base: base, cookie: value}
			for _, path := range []string{"/phone/events", "/phone/files/x"} {
				b.wants(http.StatusUnauthorized, "GET", path, "")
			}
			for _, path := range []string{"/phone/messages", "/phone/agents", "/phone/restart"} {
				b.wants(http.StatusUnauthorized, "POST", path, "{}")
			}
			if _, text := b.do("GET", "/phone/session", ""); text != `{"in":false}`+"\n" {
				t.Errorf("session: %s", text)
			}
		})
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	for name, header := range map[string]map[string]string{
		"another site":               {"Sec-Fetch-Site": "cross-site"},
		"another port of this host":  {"Sec-Fetch-Site": "same-site"},
		"another origin":             {"Origin": "http://evil.example"},
		"no origin":                  {"Origin": ""},
		"another host (DNS rebound)": {"Origin": "null"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPhone(t, "")
			p.Restart = func() { t.Error("the hub was killed") }
			b := letIn(t, p, serve(t, p))
			b.header = header
			for _, path := range []string{"/phone/restart", "/phone/messages", "/phone/agents", "/phone/session"} {
				b.wants(http.StatusForbidden, "POST", path, `{"code":"open sesame"}`)
			}
		})
	}
}

func TestThePageIsOpenAndStrict(t *testing.T) {
	b := browser{t: t, base: serve(t, newPhone(t, ""))}
	for path, kind := range map[string]string{"/phone": "text/html; charset=utf-8", "/phone/app.js": "text/javascript; charset=utf-8", "/phone/ask.js": "text/javascript; charset=utf-8", "/phone/dom.js": "text/javascript; charset=utf-8", "/phone/app.css": "text/css; charset=utf-8"} {
		resp, text := b.do("GET", path, "")
		h := resp.Header
		if resp.StatusCode != http.StatusOK || text == "" || h.Get("Content-Type") != kind {
			t.Errorf("%s: %d, %s", path, resp.StatusCode, h.Get("Content-Type"))
		}
		if h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: headers %v", path, h)
		}
		b.header = map[string]string{"If-None-Match": h.Get("ETag")}
		b.wants(http.StatusNotModified, "GET", path, "")
		b.header = nil
	}
	b.wants(http.StatusNotFound, "GET", "/phone/index.html", "")
	b.wants(http.StatusMethodNotAllowed, "GET", "/phone/restart", "")
}

func TestNothingIsInlineInThePage(t *testing.T) {
	b, err := page.ReadFile("page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<style", " style=", " onclick=", "javascript:", "<script>", "//cdn"} {
		if bytes.Contains(b, []byte(bad)) {
			t.Errorf("the page has %s, which its policy forbids", bad)
		}
	}
}

func TestPostsOverHTTP(t *testing.T) {
	p, r := newPhone(t, ""), &recorder{}
	b := letIn(t, p, serve(t, p))
	hello := `{"id":"p1","chat":"operator","kind":"text","text":"hello"}`
	b.wants(http.StatusServiceUnavailable, "POST", "/phone/messages", hello)
	run(t, p, r)
	b.wants(http.StatusNoContent, "POST", "/phone/messages", hello)
	b.wants(http.StatusNoContent, "POST", "/phone/messages", hello)
	if len(r.got) != 1 {
		t.Errorf("received %d times", len(r.got))
	}
	b.wants(http.StatusBadRequest, "POST", "/phone/messages", `{"id":1}`)
	b.wants(http.StatusBadRequest, "POST", "/phone/messages", `{"id":"p2","chat":"operator"}`)
	b.wants(http.StatusRequestEntityTooLarge, "POST", "/phone/messages", strings.Repeat(" ", httpd.MaxBody+1))
	b.header = map[string]string{"Content-Type": "text/plain"}
	b.wants(http.StatusUnsupportedMediaType, "POST", "/phone/messages", hello)
}

func TestPicturesAreTheBubblesOwn(t *testing.T) {
	p := newPhone(t, filepath.Join(t.TempDir(), "phone"))
	run(t, p, &recorder{})
	if err := p.pass(t.Context(), post{ID: "p", Chat: operator, Kind: hub.Text, Pictures: []upload{{Data: png}}}); err != nil {
		t.Fatal(err)
	}
	if err := p.pictures.root.WriteFile("stray.png", png, 0o600); err != nil {
		t.Fatal(err)
	}
	b := letIn(t, p, serve(t, p))
	resp, text := b.do("GET", "/phone/files/"+key(0)+"-0.png", "")
	if text != string(png) || resp.Header.Get("Content-Type") != "image/png" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the picture: %d %v", resp.StatusCode, resp.Header)
	}
	for _, path := range []string{"stray.png", "..%2Fphone", "..%2f..%2f..%2fetc%2fpasswd", "%2Fetc%2Fpasswd", key(0) + "-1.png"} {
		b.wants(http.StatusNotFound, "GET", "/phone/files/"+path, "")
	}
}

func TestThePageSwitchesAgentsAndKillsTheHub(t *testing.T) {
	p := newPhone(t, "")
	did := make(chan string, 2)
	p.Switch = func(agent string, online bool) { did <- fmt.Sprint(agent, " ", online) }
	p.Restart = func() { did <- "restart" }
	b := letIn(t, p, serve(t, p))
	b.wants(http.StatusNoContent, "POST", "/phone/agents", `{"agent":"deploy-bot","online":false}`)
	b.wants(http.StatusNotFound, "POST", "/phone/agents", `{"agent":"somebody's","online":false}`)
	b.wants(http.StatusAccepted, "POST", "/phone/restart", `{}`)
	if first, second := <-did, <-did; first != "deploy-bot false" || second != "restart" {
		t.Errorf("did %s, %s", first, second)
	}
}

func TestReports(t *testing.T) {
	p := newPhone(t, "")
	b := browser{t: t, base: serve(t, p)}
	report := func(id string, seq int) string {
		return fmt.Sprintf(`{"agent":"deploy-bot","id":%q,"seq":%d,"content":"yes","meta":{"route_status":"routed"}}`, id, seq)
	}
	for _, step := range []struct {
		name    string
		body    string
		status  int
		repeats int
	}{
		{"one that is new", report("m1", 1), http.StatusNoContent, 0},
		{"the same posted again", report("m1", 1), http.StatusNoContent, 0},
		{"the message handed again", report("m1", 2), http.StatusNoContent, 1},
		{"that posted again", report("m1", 2), http.StatusNoContent, 1},
		{"without an id", report("", 3), http.StatusBadRequest, 1},
		{"without a name", `{"id":"m1","seq":3}`, http.StatusBadRequest, 1},
		{"of more than an event can have", `{"agent":"a","id":"m","content":"` + strings.Repeat("x", maxText+1) + `"}`, http.StatusBadRequest, 1},
	} {
		b.wants(step.status, "POST", "/phone/received", step.body)
		if list := p.state.received["deploy-bot"]; len(list) != 1 || list[0].Repeats != step.repeats {
			t.Errorf("%s: %+v, want one, repeated %d times", step.name, list, step.repeats)
		}
	}
	for i := range maxReports {
		body, _ := json.Marshal(received{Agent: hub.AgentID(fmt.Sprint("agent-", i)), ID: "m"})
		status := http.StatusNoContent
		if i == maxReports-1 { // deploy-bot is one too
			status = http.StatusTooManyRequests
		}
		b.wants(status, "POST", "/phone/received", string(body))
	}
}
