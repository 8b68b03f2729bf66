package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aldis/internal/config"
	"aldis/internal/hook"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/store"
)

// findHook finds a hook for package hook.
func (h *hubProcess) findHook(ctx context.Context, name string) (hook.Hook, error) {
	found, err := h.store.Hook(ctx, name)
	return hook.Hook(found), err
}

// A hookAPI is what the admin does with webhooks.
type hookAPI struct {
	hooks *hook.Hooks
	store *store.Store
}

// A newHook is a webhook as it is added. Its secret is never told again.
type newHook struct {
	Name   string      `json:"name"`
	Agent  hub.AgentID `json:"agent"`
	Preset string      `json:"preset"`
	Secret string      `json:"secret,omitempty"`
	Only   []string    `json:"only,omitempty"`
}

// A hookInfo is a webhook as it is listed.
type hookInfo struct {
	Name    string      `json:"name"`
	Agent   hub.AgentID `json:"agent"`
	Preset  string      `json:"preset"`
	Signed  bool        `json:"signed"` // it has a secret
	Only    []string    `json:"only"`
	Path    string      `json:"path"`
	Created time.Time   `json:"created"`
	hook.Counts
}

func (a hookAPI) info(h hook.Hook) hookInfo {
	return hookInfo{
		h.Name, h.Agent, h.Preset, h.Secret != "", append([]string{}, h.Only...),
		"/hooks/" + h.Name, h.Created, a.hooks.Counts(h.Name),
	}
}

func (a hookAPI) list(w http.ResponseWriter, r *http.Request) error {
	all, err := a.store.Hooks(r.Context())
	if err != nil {
		return err
	}
	infos := make([]hookInfo, len(all))
	for i, h := range all {
		infos[i] = a.info(hook.Hook(h))
	}
	return httpd.WriteJSON(w, http.StatusOK, map[string]any{"hooks": infos})
}

func (a hookAPI) add(w http.ResponseWriter, r *http.Request) error {
	b, err := httpd.ReadBody(r)
	if err != nil {
		return err
	}
	in := newHook{Preset: "generic"}
	if json.Unmarshal(b, &in) != nil {
		return httpd.Statusf(http.StatusUnprocessableEntity, `the body must be like {"name": "NAME", "agent": "AGENT"}`)
	}
	h := hook.Hook{Name: in.Name, Agent: in.Agent, Preset: in.Preset, Secret: in.Secret, Only: in.Only}
	if err := h.Check(); err != nil {
		return err
	}
	if h.Created, err = a.store.AddHook(r.Context(), store.Hook(h)); err != nil {
		return err
	}
	return httpd.WriteJSON(w, http.StatusCreated, a.info(h))
}

func (a hookAPI) remove(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := a.store.RemoveHook(r.Context(), name); err != nil {
		return err
	}
	a.hooks.Forget(name)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// hookCmd is aldis hook.
type hookCmd struct {
	Add    hookAddCmd    `cmd:"" help:"Add a webhook, and print the address to give to its caller."`
	List   hookListCmd   `cmd:"" help:"List the webhooks, and what became of their calls since the hub was started."`
	Remove hookRemoveCmd `cmd:"" help:"Remove a webhook."`
}

type hookAddCmd struct {
	config.HubAdmin
	Name      string      `arg:"" help:"Name of the webhook: letters, digits, dots, dashes and underscores."`
	Agent     hub.AgentID `required:"" placeholder:"AGENT" help:"Agent that its calls are told to."`
	Preset    string      `enum:"generic,github,gitlab,stripe" default:"generic" help:"How its caller signs, and what it sends: github, gitlab, stripe or generic."`
	SecretEnv string      `placeholder:"VAR" help:"Variable that holds the secret its caller signs with. Without, calls need the shared token."`
	Only      []string    `placeholder:"EVENT" help:"Event that has an effect, as its caller names it; repeat for more. Default: all."`
}

func (c *hookAddCmd) Run(ctx context.Context, e env) error {
	in := newHook{Name: c.Name, Agent: c.Agent, Preset: c.Preset, Only: c.Only}
	if c.SecretEnv != "" {
		if in.Secret = e.getenv(c.SecretEnv); in.Secret == "" {
			return usageError{fmt.Errorf("--secret-env %s: there is no such variable, or it is empty", c.SecretEnv)}
		}
	}
	var made hookInfo
	if err := (adminClient{c.HubAdmin}).do(ctx, http.MethodPost, "/api/hooks", in, &made); err != nil {
		return err
	}
	lets := "the shared token, as Authorization: Bearer TOKEN"
	if made.Signed {
		lets = "a signature by the secret in " + c.SecretEnv
	}
	fmt.Fprintf(e.stderr, "Webhook %s tells agent %s. A call needs %s. From elsewhere it is under the hub's public name at:\n", made.Name, made.Agent, lets)
	_, err := fmt.Fprintln(e.stdout, c.URL+made.Path)
	return err
}

type hookListCmd struct {
	config.HubAdmin
	JSON bool `help:"Print JSON."`
}

func (c *hookListCmd) Run(ctx context.Context, e env) error {
	var list struct {
		Hooks []hookInfo `json:"hooks"`
	}
	if err := (adminClient{c.HubAdmin}).do(ctx, http.MethodGet, "/api/hooks", nil, &list); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(e.stdout).Encode(list.Hooks)
	}
	t := newTable(e, "NAME", "AGENT", "PRESET", "NEEDS", "EVENTS", "CALLS")
	for _, h := range list.Hooks {
		lets, only := "token", "all events"
		if h.Signed {
			lets = "signed"
		}
		if len(h.Only) > 0 {
			only = strings.Join(h.Only, ",")
		}
		t.row(h.Name, string(h.Agent), h.Preset, lets, only,
			fmt.Sprintf("%d accepted, %d refused, %d duplicates, %d ignored", h.Accepted, h.Refused, h.Duplicates, h.Ignored))
	}
	return t.print()
}

type hookRemoveCmd struct {
	config.HubAdmin
	Name string `arg:"" help:"Name of the webhook."`
}

func (c *hookRemoveCmd) Run(ctx context.Context) error {
	return (adminClient{c.HubAdmin}).do(ctx, http.MethodDelete, "/api/hooks/"+url.PathEscape(c.Name), nil, nil)
}
