package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"aldis/internal/config"
	"aldis/internal/gate"
)

// accessCmd is aldis access.
type accessCmd struct {
	List   accessListCmd   `cmd:"" help:"List who may write to the agents, and who asks to."`
	Pair   accessPairCmd   `cmd:"" help:"Let in whoever was told a code."`
	Deny   accessDenyCmd   `cmd:"" help:"Do not let in whoever was told a code."`
	Allow  accessAllowCmd  `cmd:"" help:"Let somebody in."`
	Remove accessRemoveCmd `cmd:"" help:"Shut somebody out who was let in."`
	Policy accessPolicyCmd `cmd:"" help:"Say whether strangers are told a code, and whether anybody comes in at all."`
	Group  accessGroupCmd  `cmd:"" help:"Say in which groups everything is heard that trusted people say."`
	Rebind accessRebindCmd `cmd:"" help:"Accept that a number is somebody else's now."`
}

// send has the hub make a change, and prints what it did.
func (o accessOrder) send(ctx context.Context, e env, hub config.HubAdmin, name string) error {
	var answer struct {
		Done string `json:"done"`
	}
	if err := (adminClient{hub}).do(ctx, http.MethodPost, "/api/access/"+name, o, &answer); err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.stdout, answer.Done)
	return err
}

type accessPairCmd struct {
	config.HubAdmin
	Code string `arg:"" help:"The code, in any case."`
}

func (c *accessPairCmd) Run(ctx context.Context, e env) error {
	return accessOrder{Code: c.Code}.send(ctx, e, c.HubAdmin, "pair")
}

type accessDenyCmd struct {
	config.HubAdmin
	Code string `arg:"" help:"The code, in any case."`
}

func (c *accessDenyCmd) Run(ctx context.Context, e env) error {
	return accessOrder{Code: c.Code}.send(ctx, e, c.HubAdmin, "deny")
}

type accessAllowCmd struct {
	config.HubAdmin
	ID   string `arg:"" help:"A phone number with its country code, or a UUID."`
	Name string `help:"Who that is, for the list."`
}

func (c *accessAllowCmd) Run(ctx context.Context, e env) error {
	return accessOrder{ID: c.ID, Name: c.Name}.send(ctx, e, c.HubAdmin, "allow")
}

type accessRemoveCmd struct {
	config.HubAdmin
	ID string `arg:"" help:"The id, as list shows it."`
}

func (c *accessRemoveCmd) Run(ctx context.Context, e env) error {
	return accessOrder{ID: c.ID}.send(ctx, e, c.HubAdmin, "remove")
}

type accessPolicyCmd struct {
	config.HubAdmin
	Policy string `arg:"" enum:"allowlist,pairing,disabled" help:"allowlist (those who were named), pairing (strangers are told a code, too) or disabled (nobody but the operator)."`
}

func (c *accessPolicyCmd) Run(ctx context.Context, e env) error {
	return accessOrder{Policy: gate.Policy(c.Policy)}.send(ctx, e, c.HubAdmin, "policy")
}

type accessGroupCmd struct {
	Add accessGroupAddCmd `cmd:"" help:"Hear everything that trusted people say in a group."`
	Rm  accessGroupRmCmd  `cmd:"" help:"Hear only what is addressed to us in it."`
}

type accessGroupAddCmd struct {
	config.HubAdmin
	ID string `arg:"" help:"group: and the group's id, as the chat_id of its messages has it."`
}

func (c *accessGroupAddCmd) Run(ctx context.Context, e env) error {
	return accessOrder{ID: c.ID}.send(ctx, e, c.HubAdmin, "group-add")
}

type accessGroupRmCmd struct {
	config.HubAdmin
	ID string `arg:"" help:"The group, as list shows it."`
}

func (c *accessGroupRmCmd) Run(ctx context.Context, e env) error {
	return accessOrder{ID: c.ID}.send(ctx, e, c.HubAdmin, "group-remove")
}

type accessRebindCmd struct {
	config.HubAdmin
	ID string `arg:"" help:"The number, as status shows it."`
}

func (c *accessRebindCmd) Run(ctx context.Context, e env) error {
	return accessOrder{ID: c.ID}.send(ctx, e, c.HubAdmin, "rebind")
}

type accessListCmd struct {
	config.HubAdmin
	JSON bool `help:"Print JSON."`
}

func (c *accessListCmd) Run(ctx context.Context, e env) error {
	var s accessState
	if err := (adminClient{c.HubAdmin}).do(ctx, http.MethodGet, "/api/access", nil, &s); err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(e.stdout)
		out.SetIndent("", "  ")
		return out.Encode(s)
	}
	t := newTable(e)
	s.fill(t)
	return t.print()
}

func (s accessState) fill(t *table) {
	s.accessTrouble.fill(t)
	for _, x := range s.Settings {
		role := "trusted"
		switch {
		case x.Operator:
			role = "operator"
		case x.Approver:
			role = "approver"
		}
		t.row(role, string(x.ID), "by a setting")
	}
	for _, x := range s.People {
		t.row("let in", string(x.ID), x.Name+" "+string(x.ShownAs))
	}
	for _, x := range s.Groups {
		t.row("group", string(x.ID), "everything is heard")
	}
	for _, x := range s.Pairings {
		t.row("asks", called(x), fmt.Sprintf("code %s until %s", x.Code, t.moment(x.Expires)))
	}
}

// fill shows the policy, and what is wrong.
func (s accessTrouble) fill(t *table) {
	if s.Trouble != "" {
		t.row("access", "CLOSED to all but the operator: "+s.Trouble)
	} else {
		t.row("access", fmt.Sprintf("policy %s", s.Policy))
	}
	for _, b := range s.Moved {
		t.row("moved", fmt.Sprintf("%s is somebody else's since %s, and is kept out; aldis access rebind %s accepts them",
			string(b.ID), t.moment(b.Moved), string(b.ID)))
	}
}
