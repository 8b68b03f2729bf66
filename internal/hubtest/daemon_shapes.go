package hubtest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Text makes the envelope of a text from somebody, which quotes the message of
// ours with the timestamp quoted unless that is 0.
func (d *Daemon) Text(from DaemonContact, timestamp int64, text string, quoted int64) map[string]any {
	data := map[string]any{"timestamp": timestamp, "message": text, "expiresInSeconds": 0, "viewOnce": false}
	if quoted != 0 {
		me := d.Contacts[0]
		data["quote"] = map[string]any{
			"id": quoted, "author": me.Number, "authorNumber": me.Number, "authorUuid": me.UUID,
			"text": "", "attachments": []any{},
		}
	}
	source := from.Number
	if source == "" {
		source = from.UUID
	}
	return map[string]any{
		"source": source, "sourceNumber": orNull(from.Number), "sourceUuid": orNull(from.UUID), "sourceName": from.Name,
		"sourceDevice": 1, "timestamp": timestamp, "serverReceivedTimestamp": timestamp + 1, "serverDeliveredTimestamp": 0,
		"dataMessage": data,
	}
}

// answer is the daemon's own answer. It is called with d.mu held.
func (d *Daemon) answer(r DaemonRequest) DaemonAnswer {
	switch r.Method {
	case "version":
		return DaemonAnswer{Result: map[string]any{"version": d.Version}}
	case "listAccounts":
		accounts := []map[string]any{}
		for _, a := range d.Accounts {
			accounts = append(accounts, map[string]any{"number": a})
		}
		return DaemonAnswer{Result: accounts}
	case "startLink":
		d.links++
		return DaemonAnswer{Result: map[string]any{"deviceLinkUri": d.link(d.links)}}
	case "finishLink":
		return d.finishLink(r.Params)
	case "listContacts":
		return DaemonAnswer{Result: d.contacts()}
	case "listGroups":
		return DaemonAnswer{Result: d.groups()}
	case "send", "sendReaction", "remoteDelete", "sendReceipt":
		d.timestamp++
		return DaemonAnswer{Result: map[string]any{"timestamp": d.timestamp, "results": d.results(r.Params)}}
	default:
		return DaemonAnswer{Error: DaemonError(-32601, "Method not implemented", nil)}
	}
}

// link is the n-th address that a phone scans, as long as a real one.
func (d *Daemon) link(n int) string {
	return fmt.Sprintf("sgnl://linkdevice?uuid=%024d%%3D%%3D&pub_key=BQ%042d", n, n)
}

// finishLink answers as if the phone of LinkNumber had scanned the newest
// address at once.
func (d *Daemon) finishLink(params map[string]any) DaemonAnswer {
	switch {
	case d.links == 0 || params["deviceLinkUri"] != d.link(d.links):
		return DaemonAnswer{Error: DaemonError(-1, "Unknown device link uri.", nil)}
	case slices.Contains(d.Accounts, d.LinkNumber):
		return DaemonAnswer{Error: DaemonError(-1, "The user "+d.LinkNumber+" already exists\nDelete \"312345\" before trying again.", nil)}
	}
	d.Accounts = append(d.Accounts, d.LinkNumber)
	return DaemonAnswer{Result: map[string]any{"number": d.LinkNumber}}
}

// results says that everybody was reached whom a request names.
func (d *Daemon) results(params map[string]any) []any {
	results := []any{}
	if id, ok := params["groupId"].(string); ok {
		for _, g := range d.Groups {
			for _, m := range g.Members {
				if g.ID == id {
					results = append(results, DaemonResult(m, "SUCCESS"))
				}
			}
		}
	}
	if params["noteToSelf"] == true {
		results = append(results, DaemonResult(d.Contacts[0], "SUCCESS"))
	}
	names, _ := params["recipient"].([]any)
	if name, ok := params["recipient"].(string); ok {
		names = []any{name}
	}
	for _, name := range names {
		results = append(results, DaemonResult(d.contact(fmt.Sprint(name)), "SUCCESS"))
	}
	return results
}

func (d *Daemon) contact(name string) DaemonContact {
	for _, c := range d.Contacts {
		if name == c.Number || name == c.UUID {
			return c
		}
	}
	if len(name) > 0 && name[0] == '+' {
		return DaemonContact{Number: name}
	}
	return DaemonContact{UUID: name}
}

func (d *Daemon) contacts() []any {
	all := []any{}
	for _, c := range d.Contacts {
		all = append(all, map[string]any{
			"number": orNull(c.Number), "uuid": orNull(c.UUID), "username": nil, "name": "", "isBlocked": c.Blocked,
			"isHidden": false, "unregistered": false,
			"profile": map[string]any{"givenName": orNull(c.Name), "familyName": nil},
		})
	}
	return all
}

func (d *Daemon) groups() []any {
	all := []any{}
	for _, g := range d.Groups {
		all = append(all, map[string]any{
			"id": g.ID, "name": orNull(g.Name), "description": "", "isMember": !g.Left, "isBlocked": g.Blocked,
		})
	}
	return all
}

// DaemonResult is one of the results of a send. The type is SUCCESS or ends in
// _FAILURE.
func DaemonResult(to DaemonContact, kind string) map[string]any {
	return map[string]any{
		"recipientAddress": map[string]any{"uuid": orNull(to.UUID), "number": orNull(to.Number), "username": nil},
		"type":             kind,
	}
}

// DaemonError is the error of an answer.
func DaemonError(code int, message string, data any) map[string]any {
	return map[string]any{"code": code, "message": message, "data": data}
}

// DaemonSendError is the error of a send that reached nobody. Its results
// carry the timestamp that the message has all the same.
func DaemonSendError(code int, timestamp int64, results ...any) map[string]any {
	return DaemonError(code, "Failed to send message", map[string]any{
		"response": map[string]any{"timestamp": timestamp, "results": results},
	})
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func line(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // a test gave a value that is not JSON
	}
	return string(raw) + "\n"
}
