package web

import (
	"net/http"
	"net/url"
	"strings"

	"aldis/internal/httpd"
	"aldis/internal/hub"
)

type loginForm struct {
	frame
	Next string
	Why  string // the last attempt did not do; empty: there was none
}

// loginPage serves GET /login.
func (p *Pages) loginPage(w http.ResponseWriter, r *http.Request) error {
	next := ours(r.FormValue("next"))
	if p.Logins.In(r) {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	return render(w, http.StatusOK, "login", loginForm{frame{Title: "Log in"}, next, ""})
}

// logIn serves POST /login.
func (p *Pages) logIn(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return hub.Errorf(hub.Invalid, "this is not the form of the login page: %w", err)
	}
	next := ours(r.PostFormValue("next"))
	err := p.Logins.LogIn(w, r, strings.TrimSpace(r.PostFormValue("token")))
	if err == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	status, again := map[hub.Kind]int{hub.Denied: http.StatusForbidden, hub.Limited: http.StatusTooManyRequests}[hub.KindOf(err)]
	if !again || !httpd.WantsPage(r) {
		return err
	}
	return render(w, status, "login", loginForm{frame{Title: "Log in"}, next, hub.Readable(err)})
}

// logOut serves POST /logout.
func (p *Pages) logOut(w http.ResponseWriter, r *http.Request) error {
	if err := p.Logins.LogOut(w, r); err != nil {
		return err
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}

// ours returns next if it is one of the pages here, else the first of them: a
// login must not send anybody to another site.
func ours(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.Contains(next, `\`) {
		return "/admin"
	}
	if u.Path == "/" || u.Path == "/admin" || strings.HasPrefix(u.Path, "/admin/") {
		return u.RequestURI()
	}
	return "/admin"
}
