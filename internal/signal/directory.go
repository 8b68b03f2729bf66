package signal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"aldis/internal/hub"
)

// A contact is one entry of listContacts.
type contact struct {
	address
	Name         string `json:"name"`
	IsBlocked    bool   `json:"isBlocked"`
	IsHidden     bool   `json:"isHidden"`
	Unregistered bool   `json:"unregistered"`
	Profile      struct {
		GivenName  string `json:"givenName"`
		FamilyName string `json:"familyName"`
	} `json:"profile"`
}

func (k contact) displayName() string {
	profile := strings.TrimSpace(k.Profile.GivenName + " " + k.Profile.FamilyName)
	return hub.OneLine(cmp.Or(k.Name, profile), hub.PreviewBytes)
}

// A group is one entry of listGroups.
type group struct {
	ID        string `json:"id"`
	Name      string `json:"name"` // empty when the details could not be fetched
	IsMember  bool   `json:"isMember"`
	IsBlocked bool   `json:"isBlocked"`
}

// Chats returns the contacts and the groups that may be written to and whose
// name or id contains query, any case. It fails with Unavailable or Limited.
func (c *Client) Chats(ctx context.Context, query string) ([]hub.Chat, error) {
	n, err := c.connection()
	if err != nil {
		return nil, err
	}
	contacts, err := c.contacts(ctx, n)
	if err != nil {
		return nil, c.unreached(err)
	}
	var groups []group
	if err := ask(ctx, n, askTimeout, "listGroups", c.params(), &groups); err != nil {
		return nil, c.unreached(err)
	}
	chats := append(c.contactChats(contacts), groupChats(groups)...)
	query = strings.ToLower(query)
	chats = slices.DeleteFunc(chats, func(chat hub.Chat) bool {
		return !strings.Contains(strings.ToLower(chat.Name), query) && !strings.Contains(strings.ToLower(string(chat.ID)), query)
	})
	slices.SortStableFunc(chats, func(a, b hub.Chat) int { return cmp.Compare(a.Name, b.Name) })
	return chats, nil
}

func (c *Client) contactChats(contacts []contact) []hub.Chat {
	var chats []hub.Chat
	for _, k := range contacts {
		if k.IsBlocked || k.IsHidden || k.Unregistered || k.address == (address{}) {
			continue
		}
		name := k.displayName()
		if c.people.ours(k.address) {
			name = "Note to Self"
		}
		chats = append(chats, hub.Chat{ID: hub.ChatID(newPerson(k.address, "").id()), Name: name})
	}
	return chats
}

func groupChats(groups []group) []hub.Chat {
	var chats []hub.Chat
	for _, g := range groups {
		if g.IsMember && !g.IsBlocked {
			chats = append(chats, hub.Chat{ID: hub.ChatID(groupPrefix + g.ID), Name: hub.OneLine(g.Name, hub.PreviewBytes), Group: true})
		}
	}
	return chats
}

// contacts asks for the contacts, and learns whose names belong together.
func (c *Client) contacts(ctx context.Context, n *conn) ([]contact, error) {
	var contacts []contact
	if err := ask(ctx, n, askTimeout, "listContacts", c.params(), &contacts); err != nil {
		return nil, err
	}
	for _, k := range contacts {
		c.people.learn(k.address, k.displayName())
	}
	return contacts, nil
}

// acquaint learns the names of those whom the account knows, and of the
// operator: somebody's first message may carry a UUID alone, and those who
// were let in by number would not be recognized. Without an answer the names
// are learned from later messages.
func (c *Client) acquaint(ctx context.Context, n *conn) {
	c.countAccounts(ctx, n)
	if _, err := c.contacts(ctx, n); err != nil {
		c.Log.Debug("contacts not read", "platform", ID, "err", err)
	}
	a := addressOf(c.Operator)
	x := c.people.find(a)
	if a.Number == "" || x != nil && x.UUID != "" {
		return
	}
	p := c.params()
	p.Recipient = []string{a.Number}
	var known []address
	if err := ask(ctx, n, askTimeout, "getUserStatus", p, &known); err != nil {
		c.Log.Debug("operator not looked up", "platform", ID, "err", err)
		return
	}
	for _, k := range known {
		if k.Number == a.Number && k.UUID != "" {
			c.people.learn(k, "")
		}
	}
}

// countAccounts notes how many accounts the daemon has, and whether ours is one
// of them, for whoever looks for what is wrong.
func (c *Client) countAccounts(ctx context.Context, n *conn) {
	var accounts []address
	err := ask(ctx, n, answerTimeout, "listAccounts", params{}, &accounts)
	number := c.people.me().Number
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Accounts = len(accounts)
	c.report.Missing = err == nil && number != "" && !slices.ContainsFunc(accounts, func(a address) bool { return a.Number == number })
}

// findNumber learns the number of an account that is given by its UUID, by
// which notices name it. A daemon started for one account has no listAccounts.
func (c *Client) findNumber(ctx context.Context, n *conn) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var accounts []address
	err := ask(ctx, n, answerTimeout, "listAccounts", params{}, &accounts)
	c.mu.Lock()
	c.sole = errors.Is(err, errNoMethod) || len(accounts) == 1
	c.mu.Unlock()
	for _, a := range accounts {
		if len(accounts) == 1 || c.holds(ctx, n, a.Number) {
			c.people.isMe(address{Number: a.Number})
			return
		}
	}
}

// holds reports whether the daemon's account of that number is ours: each
// account is among its own contacts.
func (c *Client) holds(ctx context.Context, n *conn, number string) bool {
	var contacts []contact
	err := ask(ctx, n, answerTimeout, "listContacts", params{Account: number}, &contacts)
	return err == nil && slices.ContainsFunc(contacts, func(k contact) bool {
		return k.Number == number && c.people.ours(k.address)
	})
}

func (c *Client) isSole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sole
}

// params are those that every request has: the account by its number, since
// daemons before 0.14.6 know no other name, or not at all.
func (c *Client) params() params { return params{Account: c.people.me().Number} }

// connection returns the connection, or Unavailable.
func (c *Client) connection() (*conn, error) {
	c.setup()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		return c.conn, nil
	}
	return nil, hub.Errorf(hub.Unavailable, "there is no connection to signal-cli at %s, nothing was sent: "+
		"start it (signal-cli daemon %s) or correct --signal-cli; it is tried again by itself", c.Address, daemonFlag(c.Address))
}

// daemonFlag is what makes a daemon listen on an address.
func daemonFlag(address string) string {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "--socket " + path
	}
	return "--tcp " + address
}

// unreached makes an error of ask fit to be read by an agent.
func (c *Client) unreached(err error) error {
	if _, ok := errors.AsType[*hub.Error](err); ok {
		return err
	}
	msg := "signal-cli at " + c.Address + " did not answer; try again later"
	if errors.Is(err, errUnsent) {
		msg = "signal-cli at " + c.Address + " could not be reached, nothing was sent; try again later"
	}
	return &hub.Error{Kind: hub.Unavailable, Msg: msg, Err: err}
}
