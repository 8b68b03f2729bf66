package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"aldis/internal/auth"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/store"
)

// A site is the pages of a hub with a record of its own, on a real port.
type site struct {
	*Pages
	t      *testing.T
	record *store.Store
	url    *url.URL
	now    Presence
	asked  []hub.Prompt
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t}
	dir, err := store.OpenDir(t.TempDir(), store.Holder{})
	must(t, err)
	s.record, err = store.Open(t.Context(), store.Options{})
	must(t, err)
	logins, err := auth.OpenLogins(dir, "admin-token", time.Now)
	must(t, err)
	s.Pages = &Pages{
		Tokens: auth.Tokens{Shared: []string{"shared-token"}, Admin: "admin-token", AllowUnauthenticated: true},
		Logins: logins, Record: s.record, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Prompts:  func(context.Context, time.Time) ([]hub.Prompt, error) { return s.asked, nil },
		Presence: func(context.Context) (Presence, error) { return s.now, nil },
	}
	server := httptest.NewUnstartedServer(nil)
	s.url = &url.URL{Scheme: "http", Host: server.Listener.Addr().String()}
	server.Config.Handler = httpd.Guard(s.Log, httpd.NewHosts(s.url.Hostname(), s.url.Port(), nil), httpd.MaxBody, s.Handler())
	server.Start()
	t.Cleanup(func() {
		server.Close()
		must(t, s.record.Close())
		must(t, dir.Close())
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add records a message as an agent or a script has sent it.
func (s *site) add(m hub.Message, d hub.Decision) hub.MessageID {
	s.t.Helper()
	if m.ID = hub.MessageID(uuid.Must(uuid.NewV7()).String()); m.Via == "" {
		m.Via = hub.ViaNotify
	}
	if m.Time = time.Now(); m.Kind == "" {
		m.Kind = hub.Text
	}
	_, err := s.record.Append(s.t.Context(), m, &d, func(hub.Offer) {})
	must(s.t, err)
	return m.ID
}

// A browser keeps cookies and goes where it is sent.
type browser struct {
	http.Client
	t    *testing.T
	site *site
}

func (s *site) browser() *browser {
	jar, err := cookiejar.New(nil)
	must(s.t, err)
	return &browser{http.Client{Jar: jar}, s.t, s}
}

// in is a browser that has logged in.
func (s *site) in() *browser {
	s.t.Helper()
	b := s.browser()
	b.post("/login", url.Values{"token": {"admin-token"}}, http.StatusOK)
	return b
}

// open opens an address and returns the page.
func (b *browser) open(path string, status int, header ...string) string {
	b.t.Helper()
	return b.ask(http.MethodGet, path, nil, status, header)
}

// post sends a form of one of our pages and returns the page that it leads to.
func (b *browser) post(path string, form url.Values, status int, header ...string) string {
	b.t.Helper()
	return b.ask(http.MethodPost, path, form, status,
		append([]string{"Origin", b.site.url.String(), "Content-Type", "application/x-www-form-urlencoded"}, header...))
}

func (b *browser) ask(method, path string, form url.Values, status int, header []string) string {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.site.url.String()+path, strings.NewReader(form.Encode()))
	must(b.t, err)
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i < len(header); i += 2 {
		if r.Header.Del(header[i]); header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := b.Do(r)
	must(b.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(b.t, err)
	if resp.StatusCode != status {
		b.t.Errorf("%s %s: %d, want %d: %.300s", method, path, resp.StatusCode, status, text)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		for _, wrong := range lint(string(text)) {
			b.t.Errorf("%s %s: %s", method, path, wrong)
		}
	}
	return string(text)
}

func (b *browser) wants(page string, words ...string) {
	b.t.Helper()
	for _, w := range words {
		if !strings.Contains(page, w) {
			b.t.Errorf("the page does not say %q:\n%s", w, page)
		}
	}
}

func TestAPersonLogsInAndOut(t *testing.T) {
	s := newSite(t)
	id := s.add(hub.Message{Agent: "ci", To: "deploy-bot", Text: "build failed"}, hub.Decision{})
	b := s.browser()
	want := "/admin/messages/" + string(id) + "?"
	page := b.open(want, 200)
	b.wants(page, "<h1>Log in</h1>", `value="/admin/messages/`+string(id)+`?"`)
	b.wants(b.post("/login", url.Values{"token": {"guess"}, "next": {want}}, 403), "this is not the admin&#39;s token", `role="alert"`)
	b.wants(b.post("/login", url.Values{"token": {" admin-token\n"}, "next": {want}}, 200), "<h1>Message</h1>", "build failed")
	for _, path := range []string{"/", "/admin", "/admin/agents", "/admin/prompts", "/login"} {
		if page := b.open(path, 200); strings.Contains(page, `type="password"`) {
			t.Errorf("%s asks for a login again", path)
		}
	}
	b.wants(b.post("/logout", nil, 200), "<h1>Log in</h1>")
	b.wants(b.open("/admin", 200), "<h1>Log in</h1>")
}

func TestAttackALoginThatLeadsElsewhere(t *testing.T) {
	for next, want := range map[string]string{
		"/admin?source=a":       "/admin?source=a",
		"/admin/messages/1":     "/admin/messages/1",
		"/":                     "/",
		"":                      "/admin",
		"//evil.example/admin":  "/admin",
		"https://evil.example/": "/admin",
		"/\\evil.example":       "/admin",
		"/admin/\\evil.example": "/admin",
		"javascript:alert(1)":   "/admin",
		"/mcp":                  "/admin",
		"/adminevil":            "/admin",
		"/admin\r\nX: y":        "/admin",
		"http:/admin":           "/admin",
		"//user@evil.example/":  "/admin",
		"/admin/../../evil":     "/admin/../../evil", // a path of ours, whatever it is
	} {
		if got := ours(next); got != want {
			t.Errorf("next=%q leads to %q, want %q", next, got, want)
		}
	}
}

func TestWhoMayReadThePages(t *testing.T) {
	s := newSite(t)
	strange := s.browser()
	strange.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	in := s.in()
	in.CheckRedirect = strange.CheckRedirect
	for _, path := range []string{"/", "/admin", "/admin/messages/" + someID, "/admin/agents", "/admin/prompts", "/admin/admin.js", "/admin/nothing"} {
		strange.open(path, 303)
		strange.open(path, 401, "Accept", "*/*") // no page is wanted
		strange.open(path, 401, "Authorization", "Bearer guess")
		strange.open(path, 403, "Authorization", "Bearer shared-token")
		in.open(path, 401, "Authorization", "Bearer guess") // what comes must be valid
		in.open(path, 403, "Sec-Fetch-Site", "cross-site")
		in.open(path, 403, "Sec-Fetch-Site", "same-site")
		in.open(path, 403, "Origin", "https://evil.example")
		in.open(path, 403, "Origin", "null")
	}
	in.open("/admin", 200, "Sec-Fetch-Site", "none") // typed
	in.open("/admin", 200, "Sec-Fetch-Site", "")     // an older browser
	strange.open("/admin", 200, "Authorization", "Bearer admin-token")
	strange.open("/login/style.css", 200)
	strange.open("/login/icon.svg", 200)
	in.post("/logout", nil, 403, "Sec-Fetch-Site", "cross-site")
	in.post("/logout", nil, 403, "Origin", "")
	in.open("/admin", 200)
}

func TestWhatIsNotAPageIsAnsweredInJSON(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	admin := []string{"Authorization", "Bearer admin-token", "Accept", "application/json"}
	for path, status := range map[string]int{
		"/admin?page=201": 400, "/admin?via=a&form=b": 400, "/admin/messages/1": 400, "/admin/messages/" + someID: 404, "/admin/nothing": 404,
		"/admin?before=" + someID: 404,
	} {
		if got := b.open(path, status, admin...); !strings.HasPrefix(got, `{"error":"`) {
			t.Errorf("%s: %s", path, got)
		}
		b.wants(b.open(path, status, admin[:2]...), "<h1>"+http.StatusText(status)+"</h1>")
	}
}

func TestPagesKeepToThemselves(t *testing.T) {
	s := newSite(t)
	resp, err := s.in().Get(s.url.String() + "/login")
	must(t, err)
	must(t, resp.Body.Close())
	for name, want := range map[string]string{
		"Content-Security-Policy": policy, "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// ids are the messages that a page of the list shows.
func ids(page string) (list []string) {
	for _, part := range strings.Split(page, `<tr id="m-`)[1:] {
		list = append(list, part[:36])
	}
	return list
}

// link is where the link with a rel leads; empty: there is none.
func link(page, rel string) string {
	_, rest, found := strings.Cut(page, `rel="`+rel+`" href="`)
	if !found {
		return ""
	}
	href, _, _ := strings.Cut(rest, `"`)
	return strings.ReplaceAll(href, "&amp;", "&")
}

func TestTheLinksLeadThroughTheWholeListAndBack(t *testing.T) {
	s := newSite(t)
	var want []string // newest first
	for i := range 120 {
		if s.add(hub.Message{Agent: "noise", To: "x", Text: "no"}, hub.Decision{}); i%2 == 0 {
			s.add(hub.Message{Agent: "ci", To: "x", Text: "skip"}, hub.Decision{})
		}
		want = append([]string{string(s.add(hub.Message{Agent: "ci", To: "deploy-bot", Text: fmt.Sprint(i)}, hub.Decision{}))}, want...)
	}
	b := s.in()
	start := "/admin?source=ci&target=deploy-bot"
	var got []string
	at, page := "", ""
	for next := start; next != ""; next = link(page, "next") {
		at, page = next, b.open(next, 200)
		got = append(got, ids(page)...)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("older and older: %d messages, want the %d of ci for deploy-bot, each once", len(got), len(want))
	}
	if n := len(ids(page)); n != 20 || !strings.Contains(at, "source=ci") {
		t.Errorf("the last page, %s, has %d messages, want 20", at, n)
	}
	for prev := link(page, "prev"); prev != ""; prev = link(page, "prev") {
		page = b.open(prev, 200)
		if n := len(ids(page)); n != pageSize {
			t.Errorf("%s has %d messages, want a full page", prev, n)
		}
	}
	if first := ids(page)[0]; first != want[0] || !strings.Contains(page, "data-first") {
		t.Errorf("newer and newer ends at %s, want the newest, %s, on the first page", first, want[0])
	}
	if got := ids(b.open(start+"&page=2", 200)); strings.Join(got, " ") != strings.Join(want[100:], " ") {
		t.Errorf("page=2 has %d messages, want the last 20", len(got))
	}
	b.wants(b.open("/admin?source=nobody", 200), "No message is like that.")
	b.wants(b.open("/admin?page=9", 200), "No message is here.", `href="/admin">All messages`)
}

func TestAnEmptyRecordSaysSo(t *testing.T) {
	s := newSite(t)
	b := s.in()
	b.wants(b.open("/admin", 200), "Nothing was said yet.", `data-changes="0" data-first`)
}

func TestARowSaysWhatBecameOfAMessage(t *testing.T) {
	s := newSite(t)
	b := s.in()
	id := s.add(hub.Message{Agent: "ci", To: "deploy-bot", Text: "<b>one</b>\ntwo\u202e" + strings.Repeat("x", lineBytes)}, hub.Decision{To: []hub.AgentID{"deploy-bot"}})
	page := b.open("/admin", 200)
	b.wants(page, "ci → deploy-bot", "&lt;b&gt;one&lt;/b&gt; two\uFFFDx", "xx…", "deploy-bot: queued", `href="/admin/messages/`+string(id)+`"`)
	if _, err := s.record.Settle(t.Context(), []hub.Settlement{{Agent: "deploy-bot", Message: id, State: hub.HandedOver}}); err != nil {
		t.Fatal(err)
	}
	b.wants(b.open("/admin", 200), "deploy-bot: handed over")

	s.add(hub.Message{Agent: "ci", Text: "all"}, hub.Decision{To: []hub.AgentID{"a", "b", "c", "d"}})
	b.wants(b.open("/admin", 200), "ci → <i>everybody</i>", "4: queued")

	s.add(hub.Message{Via: hub.ViaPlatform, From: hub.Sender{ID: "+15550100", Name: "Ann"}, Text: "hi"}, hub.Decision{To: []hub.AgentID{"a"}})
	b.wants(b.open("/admin", 200), "Ann (&#43;15550100) → <i>any agent</i>")
}

func TestAMessageIsShownWhole(t *testing.T) {
	s := newSite(t)
	b := s.in()
	text := "first\tline\nsecond line\u200b" + strings.Repeat("long ", 100) + "end"
	id := s.add(hub.Message{
		Via: hub.ViaHook, Agent: "github", To: "deploy-bot", Text: text, Raw: `{"action":"<opened>"}`,
		Meta: map[string]string{"event": "push", "commit": "a&b"}, Addr: "192.0.2.7:4711", Session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	}, hub.Decision{To: []hub.AgentID{"deploy-bot"}})
	page := b.open("/admin/messages/"+string(id), 200)
	b.wants(page, "first\tline\nsecond line\uFFFDlong", "long end", "{&#34;action&#34;:&#34;&lt;opened&gt;&#34;}", "  &#34;commit&#34;: &#34;a&amp;b&#34;",
		"192.0.2.7:4711", "ABCDEFGH…", `href="/admin?participant_a=github&amp;participant_b=deploy-bot"`, "<td>deploy-bot</td>", ">queued<")
	if strings.Contains(page, "ABCDEFGHI") {
		t.Error("the page shows the whole id of a session: whoever has it can be that session")
	}
}

func TestThePageOfAgents(t *testing.T) {
	s := newSite(t)
	b := s.in()
	b.wants(b.open("/admin/agents", 200), "No agent has come yet.", "There is none.")
	s.now = Presence{
		Agents:    []Agent{{Name: "crush-signal", Present: true, Default: true}, {Name: "a&b", Waiting: 3, Held: 2}},
		Sessions:  []Session{{ID: "ABCDEFGH", Agent: "crush-signal", Client: "claude-code", State: "away", Seat: true, Evicted: true}, {ID: "IJKLMNOP", State: "pull"}},
		Platforms: []hub.PlatformReport{{Platform: "signal", State: "down", Detail: "connection refused"}},
	}
	b.wants(b.open("/admin/agents", 200), "signal: down", "connection refused", "crush-signal <small>default</small>", ">here<",
		`href="/admin?target=a%26b">3</a>, 2 of them held`, ">away</span> <small>another session", ">pull<", "claude-code")
	hides := "a\u202eb\u200b" + strings.Repeat("c", hub.PreviewBytes)
	s.now = Presence{Sessions: []Session{{Client: hides}}, Platforms: []hub.PlatformReport{{Detail: hides}}}
	if page := b.open("/admin/agents", 200); strings.Count(page, "a\uFFFDb\uFFFDc") != 2 || strings.Count(page, "c…") != 2 {
		t.Errorf("the page does not show what hides in names of clients and in details:\n%s", page)
	}
}

func TestThePageOfPermissions(t *testing.T) {
	s := newSite(t)
	b := s.in()
	b.wants(b.open("/admin/prompts", 200), "Nothing was asked.")
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s.asked = []hub.Prompt{
		{ID: "1", Agent: "a", Opened: at, Code: "abcde", Tool: "Bash", Text: "run make", State: hub.Answered, Allow: true, By: "+15550100", At: at.Add(time.Minute)},
		{ID: "2", Agent: "a", Opened: at, Code: "fghij", Tool: "Write", State: hub.Answered, By: "+15550100"},
		{ID: "3", Agent: "a", Opened: at, Code: "kmnop", Tool: "Edit", State: hub.Open},
		{ID: "4", Agent: "a", Opened: at, Code: "qrstu", Tool: "Read", State: hub.Expired},
		{ID: "5", Agent: "b", Opened: at, State: hub.Answered, Text: "which one?", Answer: "the blue one"},
		{ID: "6", Agent: "b", Opened: at, State: hub.Closed},
	}
	page := b.open("/admin/prompts", 200)
	b.wants(page, "<b>Bash</b> <small>abcde</small> run make", ">allowed<", "&#43;15550100<br><time datetime=\"2026-11-30T12:01:00.000Z\">", ">denied<", ">open<",
		"nobody answered in time", "<small>question</small> which one?", ">the blue one<", "not needed any more")
	if strings.Index(page, "the blue one") > strings.Index(page, "allowed") {
		t.Error("the older request is above the newer one")
	}
	s.asked = make([]hub.Prompt, maxPrompts+1)
	b.wants(b.open("/admin/prompts", 200), "Only the newest 500 are shown.")
}
