package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"aldis/internal/gate"
	"aldis/internal/httpd"
	"aldis/internal/hub"
	"aldis/internal/relay"
)

// An accessAPI is what aldis access calls.
type accessAPI struct {
	file  *accessFile
	relay *relay.Relay
}

// An accessState says who may come in, whole: the admin alone reads it.
type accessState struct {
	accessTrouble
	Settings []gate.Setting `json:"settings"` // whom the settings let in
	People   []gate.Person  `json:"people"`
	Groups   []gate.Group   `json:"groups"`
	Pairings []gate.Pairing `json:"pairings"` // those that are open
}

// An accessTrouble is what of it status shows.
type accessTrouble struct {
	Policy  gate.Policy    `json:"policy,omitempty"`  // empty: not known
	Trouble string         `json:"trouble,omitempty"` // why nobody but the operator comes in
	Moved   []gate.Binding `json:"moved"`             // names that are somebody else's now
}

func (f *accessFile) status() accessTrouble {
	s := accessTrouble{Policy: f.gate.Access().Policy, Moved: append([]gate.Binding{}, f.gate.Moved()...)}
	if err := f.wrong(); err != nil {
		s.Policy, s.Trouble = "", err.Error()
	}
	return s
}

func (x accessAPI) list(w http.ResponseWriter, _ *http.Request) error {
	s := accessState{
		accessTrouble: x.file.status(), Settings: x.file.gate.Settings(),
		People: []gate.Person{}, Groups: []gate.Group{}, Pairings: []gate.Pairing{},
	}
	if s.Trouble == "" {
		a := x.file.gate.Access()
		s.People, s.Groups = append(s.People, a.People...), append(s.Groups, a.Groups...)
		for _, p := range a.Pairings {
			if p.Open(time.Now()) {
				s.Pairings = append(s.Pairings, p)
			}
		}
	}
	return httpd.WriteJSON(w, http.StatusOK, s)
}

// An accessOrder is a change that the admin asks for.
type accessOrder struct {
	ID     string      `json:"id,omitempty"`
	Name   string      `json:"name,omitempty"`
	Code   string      `json:"code,omitempty"`
	Policy gate.Policy `json:"policy,omitempty"`
}

// accessOrders are the changes. Each returns what it did, in a sentence.
var accessOrders = map[string]func(accessAPI, accessOrder) (string, error){
	"pair":         accessAPI.pair,
	"deny":         accessAPI.deny,
	"allow":        accessAPI.allow,
	"remove":       accessAPI.remove,
	"policy":       accessAPI.policy,
	"group-add":    accessAPI.addGroup,
	"group-remove": accessAPI.removeGroup,
	"rebind":       accessAPI.rebind,
}

// order makes the change that the path names.
func (x accessAPI) order(w http.ResponseWriter, r *http.Request) error {
	do := accessOrders[r.PathValue("order")]
	if do == nil {
		return nothing(w, r)
	}
	b, err := httpd.ReadBody(r)
	if err != nil {
		return err
	}
	var o accessOrder
	if err := json.Unmarshal(b, &o); err != nil {
		return httpd.Statusf(http.StatusUnprocessableEntity, "the body must be an object with id, name, code or policy")
	}
	done, err := do(x, o)
	if err != nil {
		return err
	}
	return httpd.WriteJSON(w, http.StatusOK, map[string]string{"done": done})
}

func (x accessAPI) pair(o accessOrder) (string, error) {
	var p gate.Pairing
	err := x.file.change(func(a *gate.Access) (err error) {
		p, err = a.Pair(o.Code, time.Now())
		return err
	})
	if err != nil {
		return "", err
	}
	x.relay.Welcome(p)
	return called(p) + " is let in, and is told so.", nil
}

func (x accessAPI) deny(o accessOrder) (string, error) {
	var p gate.Pairing
	err := x.file.change(func(a *gate.Access) (err error) {
		p, err = a.Deny(o.Code, time.Now())
		return err
	})
	return called(p) + " is not let in, and hears nothing for now.", err
}

// called is how a stranger calls themselves, and what they go by.
func called(p gate.Pairing) string {
	if p.Name == "" {
		return string(p.ID)
	}
	return fmt.Sprintf("%s (%s)", p.Name, string(p.ID))
}

func (x accessAPI) allow(o accessOrder) (string, error) {
	who, err := x.person(o.ID)
	if err != nil {
		return "", err
	}
	if x.file.gate.IsSetting(who.Platform, who.ID) {
		return "", hub.Errorf(hub.Conflict, "%s is let in by a setting already", string(who.ID))
	}
	who.Name, who.Since = hub.OneLine(o.Name, hub.PreviewBytes), time.Now().UTC().Truncate(time.Second)
	err = x.file.change(func(a *gate.Access) error { return a.Allow(who) })
	return string(who.ID) + " is let in.", err
}

func (x accessAPI) remove(o accessOrder) (string, error) {
	who, err := x.person(o.ID)
	if err != nil {
		return "", err
	}
	if x.file.gate.IsSetting(who.Platform, who.ID) {
		return "", hub.Errorf(hub.Conflict, "%s is let in by a setting: take them out of --operator, --trusted-sender and --approver (or their variables) and start the hub again", string(who.ID))
	}
	err = x.file.change(func(a *gate.Access) error { return a.Remove(who.Platform, who.ID) })
	return string(who.ID) + " is not let in any more.", err
}

func (x accessAPI) policy(o accessOrder) (string, error) {
	err := x.file.change(func(a *gate.Access) error { return a.SetPolicy(o.Policy) })
	return "The policy is " + string(o.Policy) + ".", err
}

func (x accessAPI) addGroup(o accessOrder) (string, error) {
	g, err := x.group(o.ID)
	if err != nil {
		return "", err
	}
	err = x.file.change(func(a *gate.Access) error { return a.AddGroup(g) })
	return "In " + string(g.ID) + " everything is heard that trusted people say.", err
}

func (x accessAPI) removeGroup(o accessOrder) (string, error) {
	g, err := x.group(o.ID)
	if err != nil {
		return "", err
	}
	err = x.file.change(func(a *gate.Access) error { return a.RemoveGroup(g) })
	return "In " + string(g.ID) + " only that is heard which is addressed to us.", err
}

func (x accessAPI) rebind(o accessOrder) (string, error) {
	who, err := x.person(o.ID)
	if err != nil {
		return "", err
	}
	err = x.file.change(func(a *gate.Access) error { return a.Rebind(who.Platform, who.ID) })
	return string(who.ID) + " will be whoever is seen with it next.", err
}

// person reads the id of somebody: a direct chat is named after its person.
func (x accessAPI) person(id string) (gate.Person, error) {
	chat, err := x.relay.Chat(id)
	if err == nil && isGroup(chat.Chat) {
		err = hub.Errorf(hub.Invalid, "%s is a group: give a person's id, or use aldis access group", string(chat.Chat))
	}
	return gate.Person{Platform: chat.Platform, ID: hub.SenderID(chat.Chat)}, err
}

func (x accessAPI) group(id string) (gate.Group, error) {
	chat, err := x.relay.Chat(id)
	if err == nil && !isGroup(chat.Chat) {
		err = hub.Errorf(hub.Invalid, "%s is no group: give a group's id, as the chat_id of its messages and list_chats show it", string(chat.Chat))
	}
	return gate.Group{Platform: chat.Platform, ID: chat.Chat}, err
}
