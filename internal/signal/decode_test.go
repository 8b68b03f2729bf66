package signal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aldis/internal/hub"
)

// short puts names in place of the ids of the people in the captures. Alice is
// us.
var short = strings.NewReplacer(
	"+15555550100", "alice", "a11ce000-0000-4000-8000-000000000100", "alice-uuid",
	"+15555550101", "bob", "b0b00000-0000-4000-8000-000000000101", "bob-uuid",
	"ca201000-0000-4000-8000-000000000102", "carol-uuid",
	"group:zFNrL+gz/+LssRB/OiIbwjblXx63iddHEZiepvunCiM=", "group:ops",
)

// summary says in one line all that a decoded message holds.
func summary(m hub.Message, why reason) string {
	if why != kept {
		return "dropped: " + why.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s from %s%v in %s: %s", m.Kind, m.Ref.Key, m.From.ID, m.From.Aliases, m.Ref.Chat, abbreviated(m.Text))
	if q := m.Quote; q != nil {
		fmt.Fprintf(&b, "; quotes %s of %s%v %s", q.Ref.Key, q.From, q.Aliases, abbreviated(q.Text))
		if q.Ref.Chat != m.Ref.Chat {
			b.WriteString(" in another chat")
		}
		if q.Ours {
			b.WriteString(" (ours)")
		}
	}
	if m.Target != (hub.Ref{}) {
		fmt.Fprintf(&b, "; target %s", m.Target.Key)
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(&b, "; file %q %s %d", a.Name, a.Type, a.Size)
	}
	if m.Removed {
		b.WriteString("; removed")
	}
	if m.Addressed {
		b.WriteString("; addressed")
	}
	if m.Receipt {
		b.WriteString("; receipt")
	}
	return short.Replace(b.String())
}

func abbreviated(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%q and so on, %d bytes", s[:12], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// TestCaptures: what each captured notice becomes, from a client that knows no
// more than its own number. A message is
//
//	kind timestamp from sender[aliases] in chat: text; quotes …; target …; file …
func TestCaptures(t *testing.T) {
	tests := []struct{ file, want string }{
		{"captured-0.13.19/attachment.json", `text 1796055417288 from bob[bob-uuid] in bob: "report attached"; file "report.pdf" application/pdf 17; receipt`},
		{"captured-0.13.19/attachment_missing_on_cdn.json", `text 1796055417865 from bob[bob-uuid] in bob: "lost file"; file "gone.png" image/png 12; receipt`},
		{"captured-0.13.19/attachments_only.json", `text 1796055417601 from bob[bob-uuid] in bob: ""; file "" image/jpeg 3; file "" audio/aac 3; receipt`},
		{"captured-0.13.19/call_busy.json", `dropped: call`},
		{"captured-0.13.19/call_hangup.json", `dropped: call`},
		{"captured-0.13.19/call_ice.json", `dropped: call`},
		{"captured-0.13.19/call_offer.json", `dropped: call`},
		{"captured-0.13.19/contact.json", `dropped: no_text`},
		{"captured-0.13.19/dm.json", `text 1796055412657 from bob[bob-uuid] in bob: "Can you check the build? 👩🏽\u200d💻"; receipt`},
		{"captured-0.13.19/dm_after_profile.json", `text 1796055413935 from bob[bob-uuid] in bob: "and the tests too"; receipt`},
		{"captured-0.13.19/dm_uuid_only_sender_unsealed.json", `text 1796054874760 from bob-uuid[] in bob-uuid: "Can you check the build?"; receipt`},
		{"captured-0.13.19/edit.json", `edit 1796055415892 from bob[bob-uuid] in bob: "and the tests too (edited)"; target 1796055413935`},
		{"captured-0.13.19/edit_of_edit.json", `edit 1796055416177 from bob[bob-uuid] in bob: "and the tests too (edited twice)"; quotes 1796055412657 of alice[alice-uuid] "Deploy finished." (ours); target 1796055415892; addressed`},
		{"captured-0.13.19/empty.json", `dropped: no_text`},
		{"captured-0.13.19/end_session.json", `dropped: no_text`},
		{"captured-0.13.19/exception_decrypt_failed.json", `dropped: trouble`},
		{"captured-0.13.19/exception_duplicate_message.json", `dropped: trouble`},
		{"captured-0.13.19/expire_update.json", `dropped: no_text`},
		{"captured-0.13.19/expiring.json", `text 1796055418962 from bob[bob-uuid] in bob: "gone in an hour"; receipt`},
		{"captured-0.13.19/group_call.json", `dropped: no_text`},
		{"captured-0.13.19/group_edit.json", `edit 1796055433136 from bob[bob-uuid] in group:ops: "hello group (edited)"; target 1796055429989`},
		{"captured-0.13.19/group_expire_update.json", `dropped: no_text`},
		{"captured-0.13.19/group_message.json", `text 1796055429989 from bob[bob-uuid] in group:ops: "hello group"; receipt`},
		{"captured-0.13.19/group_message_2.json", `text 1796055432289 from bob[bob-uuid] in group:ops: "hello again @alice"; addressed; receipt`},
		{"captured-0.13.19/group_quote.json", `text 1796055432567 from bob[bob-uuid] in group:ops: "answer to that"; quotes 1796055412657 of alice[alice-uuid] "Question from agent" (ours); addressed; receipt`},
		{"captured-0.13.19/group_reaction.json", `reaction 1796055432846 from bob[bob-uuid] in group:ops: "❤️"; quotes 1796055412657 of alice[alice-uuid] "" (ours); addressed`},
		{"captured-0.13.19/group_remote_delete.json", `deletion 1796055433409 from bob[bob-uuid] in group:ops: ""; target 1796055432289`},
		{"captured-0.13.19/group_story.json", `dropped: story`},
		{"captured-0.13.19/group_typing.json", `dropped: typing`},
		{"captured-0.13.19/group_update.json", `dropped: no_text`},
		{"captured-0.13.19/long_text.json", `text 1796055418130 from bob[bob-uuid] in bob: "long-text:yy" and so on, 2000 bytes; file "" text/x-signal-plain 5010; receipt`},
		{"captured-0.13.19/manual_mode_notification.json", `text 1796056039655 from bob-uuid[] in bob-uuid: "manual mode"; receipt`},
		{"captured-0.13.19/mention.json", `text 1796055416736 from bob[bob-uuid] in bob: "hi @alice please look"; addressed; receipt`},
		{"captured-0.13.19/mention_after_emoji.json", `text 1796055417007 from bob[bob-uuid] in bob: "👩🏽\u200d💻 @alice ok"; addressed; receipt`},
		{"captured-0.13.19/payment.json", `dropped: no_text`},
		{"captured-0.13.19/preview.json", `dropped: trouble`},
		{"captured-0.13.19/quote.json", `text 1796055414213 from bob[bob-uuid] in bob: "yes, that one"; quotes 1796055412657 of alice[alice-uuid] "Deploy finished." (ours); addressed; receipt`},
		{"captured-0.13.19/quote_rich.json", `text 1796055414483 from bob[bob-uuid] in bob: "see above"; quotes 1796055412657 of alice[alice-uuid] "@bob bold report" (ours); addressed; receipt`},
		{"captured-0.13.19/quote_thumb.json", `text 1796055414755 from bob[bob-uuid] in bob: "nice picture"; quotes 1796055412657 of alice[alice-uuid] "" (ours); addressed; receipt`},
		{"captured-0.13.19/reaction.json", `reaction 1796055415307 from bob[bob-uuid] in bob: "👍🏽"; quotes 1796055412657 of alice[alice-uuid] "" (ours); addressed`},
		{"captured-0.13.19/reaction_remove.json", `reaction 1796055415607 from bob[bob-uuid] in bob: "👍🏽"; quotes 1796055412657 of alice[alice-uuid] "" (ours); removed; addressed`},
		{"captured-0.13.19/receipt_delivery.json", `dropped: receipt`},
		{"captured-0.13.19/receipt_read.json", `dropped: receipt`},
		{"captured-0.13.19/receipt_viewed.json", `dropped: receipt`},
		{"captured-0.13.19/remote_delete.json", `deletion 1796055416451 from bob[bob-uuid] in bob: ""; target 1796055416177`},
		{"captured-0.13.19/sticker.json", `dropped: no_text`},
		{"captured-0.13.19/story_file.json", `dropped: story`},
		{"captured-0.13.19/story_reaction.json", `dropped: story`},
		{"captured-0.13.19/story_reply.json", `dropped: story`},
		{"captured-0.13.19/story_text.json", `dropped: story`},
		{"captured-0.13.19/sync_blocked.json", `dropped: sync`},
		{"captured-0.13.19/sync_config.json", `dropped: sync`},
		{"captured-0.13.19/sync_delete_for_me.json", `dropped: sync`},
		{"captured-0.13.19/sync_note_to_self.json", `text 1796055425780 from alice[alice-uuid] in alice: "Remind me to deploy"`},
		{"captured-0.13.19/sync_note_to_self_delete.json", `deletion 1796055426871 from alice[alice-uuid] in alice: ""; target 1796055425780`},
		{"captured-0.13.19/sync_note_to_self_edit.json", `edit 1796055426583 from alice[alice-uuid] in alice: "Remind me to deploy tomorrow"; target 1796055425780`},
		{"captured-0.13.19/sync_note_to_self_quote.json", `text 1796055426040 from alice[alice-uuid] in alice: "go ahead"; quotes 1796055412657 of alice[alice-uuid] "Deploy finished. Roll out?" (ours); addressed`},
		{"captured-0.13.19/sync_note_to_self_reaction.json", `reaction 1796055426313 from alice[alice-uuid] in alice: "✅"; quotes 1796055412657 of alice[alice-uuid] "" (ours); addressed`},
		{"captured-0.13.19/sync_read.json", `dropped: sync`},
		{"captured-0.13.19/sync_request.json", `dropped: sync`},
		{"captured-0.13.19/sync_sent_group.json", `dropped: private`},
		{"captured-0.13.19/sync_sent_group_quote.json", `dropped: private`},
		{"captured-0.13.19/sync_sent_third_party.json", `dropped: private`},
		{"captured-0.13.19/sync_sent_third_party_attachment.json", `dropped: private`},
		{"captured-0.13.19/sync_story.json", `dropped: sync`},
		{"captured-0.13.19/sync_view_once_open.json", `dropped: sync`},
		{"captured-0.13.19/sync_viewed.json", `dropped: sync`},
		{"captured-0.13.19/typing_start.json", `dropped: typing`},
		{"captured-0.13.19/typing_stop.json", `dropped: typing`},
		{"captured-0.13.19/view_once.json", `dropped: view_once`},
		{"records-0.14.7/admin_delete.json", `deletion 1796060001000 from bob[bob-uuid] in group:ops: ""; target 1796060000000`},
		{"records-0.14.7/dm_attachment_all_null.json", `text 1796060001000 from bob[bob-uuid] in bob: ""; file "" application/octet-stream -1; receipt`},
		{"records-0.14.7/dm_clock_skew_future.json", `text 1796319201000 from bob[bob-uuid] in bob: "from a phone three days ahead"; receipt`},
		{"records-0.14.7/dm_expiration_update.json", `dropped: no_text`},
		{"records-0.14.7/dm_full_long_text.json", `text 1796060001000 from bob[bob-uuid] in bob: "LLLLLLLLLLLL" and so on, 4017 bytes; receipt`},
		{"records-0.14.7/dm_payment.json", `dropped: no_text`},
		{"records-0.14.7/dm_quote_null_text.json", `text 1796060001000 from bob[bob-uuid] in bob: "ok"; quotes 1796060000000 of alice[alice-uuid] "" (ours); addressed; receipt`},
		{"records-0.14.7/dm_quote_of_uuid_only_author.json", `text 1796060001000 from bob[bob-uuid] in bob: "what she said"; quotes 1796060000000 of carol-uuid[] "I think so"; receipt`},
		{"records-0.14.7/dm_sticker.json", `dropped: no_text`},
		{"records-0.14.7/dm_styles_all.json", `text 1796060001000 from bob[bob-uuid] in bob: "bold italic strike spoiler mono"; receipt`},
		{"records-0.14.7/dm_uuid_only_sender.json", `text 1796060001000 from carol-uuid[] in carol-uuid: "hello, my number is hidden"; receipt`},
		{"records-0.14.7/dm_uuid_only_with_quote_of_us.json", `text 1796060001000 from carol-uuid[] in carol-uuid: "yes"; quotes 1796060000000 of alice[alice-uuid] "Deploy finished." (ours); addressed; receipt`},
		{"records-0.14.7/dm_view_once.json", `dropped: view_once`},
		{"records-0.14.7/edit_in_group_with_quote.json", `edit 1796060001000 from bob[bob-uuid] in group:ops: "go ahead (fixed)"; quotes 1796060000000 of alice[alice-uuid] "Roll out?" (ours); target 1796060000500; addressed`},
		{"records-0.14.7/exception_only_no_envelope.json", `dropped: trouble`},
		{"records-0.14.7/exception_unknown_sender.json", `dropped: trouble`},
		{"records-0.14.7/exception_untrusted_identity.json", `dropped: trouble`},
		{"records-0.14.7/group_name_unknown.json", `text 1796060001000 from carol-uuid[] in group:ops: "first words"; receipt`},
		{"records-0.14.7/group_quote_after_edit.json", `text 1796060001000 from bob[bob-uuid] in group:ops: "about your corrected text"; quotes 1796060000777 of alice[alice-uuid] "corrected text" (ours); addressed; receipt`},
		{"records-0.14.7/group_update.json", `dropped: no_text`},
		{"records-0.14.7/manual_mode_notification.json", `text 1796060001000 from bob[bob-uuid] in bob: "manual mode"; receipt`},
		{"records-0.14.7/other_account_in_multi_mode.json", `dropped: other_account`},
		{"records-0.14.7/pin.json", `dropped: no_text`},
		{"records-0.14.7/poll_create_group.json", `dropped: no_text`},
		{"records-0.14.7/poll_terminate.json", `dropped: no_text`},
		{"records-0.14.7/poll_vote.json", `dropped: no_text`},
		{"records-0.14.7/poll_vote_cleared.json", `dropped: no_text`},
		{"records-0.14.7/reaction_uuid_author.json", `reaction 1796060001000 from carol-uuid[] in carol-uuid: "👩🏽\u200d💻"; quotes 1796060000000 of alice-uuid[] ""`},
		{"records-0.14.7/receipt_delivery_unknown_clock.json", `dropped: receipt`},
		{"records-0.14.7/remote_delete.json", `deletion 1796060001000 from bob[bob-uuid] in bob: ""; target 1796060000000`},
		{"records-0.14.7/sync_contacts_type.json", `dropped: sync`},
		{"records-0.14.7/sync_empty.json", `dropped: sync`},
		{"records-0.14.7/sync_sent_edit_only.json", `edit 1796060001000 from alice[alice-uuid] in alice: "reminder, corrected"; target 1796060000500`},
		{"records-0.14.7/sync_sent_group.json", `dropped: private`},
		{"records-0.14.7/sync_sent_note_to_self.json", `text 1796060001000 from alice[alice-uuid] in alice: "reminder"`},
		{"records-0.14.7/sync_sent_note_to_self_uuid_only_destination.json", `text 1796060001000 from alice[alice-uuid] in alice: "reminder"`},
		{"records-0.14.7/sync_sent_third_party_uuid_only.json", `dropped: private`},
		{"records-0.14.7/unpin.json", `dropped: no_text`},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			d := decoder{people: newPeople(aliceNumber), files: folder(t.TempDir())}
			if got := summary(d.decode(capture(t, tt.file))); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
	files, err := filepath.Glob("testdata/[cr]*-*/*.json")
	if err != nil || len(files) != len(tests)+1 { // and a notice with another method
		t.Errorf("%d rows for %d captures (%v)", len(tests), len(files), err)
	}
}

// capture reads the notice of a captured line.
func capture(t testing.TB, file string) notice {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	if f.Method != "receive" {
		t.Fatalf("%s is no notice of a message", file)
	}
	return f.Params
}

// TestWhoAndOnWhichDevice: the name that stays with a person, and, of our own
// account alone, the device that wrote.
func TestWhoAndOnWhichDevice(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		lasting    string
		device     int
	}{
		{"number and UUID", "captured-0.13.19/dm.json", "bob-uuid", 0},
		{"a UUID alone", "records-0.14.7/dm_uuid_only_sender.json", "carol-uuid", 0},
		{"in a group", "captured-0.13.19/group_message.json", "bob-uuid", 0},
		{"Note to Self, from the phone", "captured-0.13.19/sync_note_to_self.json", "alice-uuid", 1},
		{"a reaction in Note to Self", "captured-0.13.19/sync_note_to_self_reaction.json", "alice-uuid", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := decoder{people: newPeople(aliceNumber), files: folder(t.TempDir())}
			m, why := d.decode(capture(t, tt.file))
			if got := short.Replace(string(m.From.Lasting)); why != kept || got != tt.lasting || m.From.Device != tt.device {
				t.Errorf("%s: lasting %q on device %d, want %q on %d", why, got, m.From.Device, tt.lasting, tt.device)
			}
		})
	}
	n := capture(t, "captured-0.13.19/sync_note_to_self.json")
	n.Envelope.SourceDevice = 0
	d := decoder{people: newPeople(aliceNumber), files: folder(t.TempDir())}
	if m, _ := d.decode(n); m.From.Device == 0 {
		t.Error("a device of ours that is not named looks like somebody else's")
	}
	if x := newPerson(address{Number: bobNumber, UUID: pniPrefix + bobUUID}, ""); x.lasting() != "" {
		t.Errorf("the UUID of a number is lasting: %q", string(x.lasting()))
	}
}

// TestOnePersonManyNames: what the daemon has said once joins the names of a
// person in everything after.
func TestOnePersonManyNames(t *testing.T) {
	d := decoder{people: newPeople(aliceNumber), files: folder(t.TempDir())}
	steps := []struct{ why, file, want string }{
		{
			"Bob's first message is unsealed and has no number", "captured-0.13.19/dm_uuid_only_sender_unsealed.json",
			`text 1796054874760 from bob-uuid[] in bob-uuid: "Can you check the build?"; receipt`,
		},
		{
			"a sealed one has both", "captured-0.13.19/dm.json",
			`text 1796055412657 from bob[bob-uuid] in bob: "Can you check the build? 👩🏽\u200d💻"; receipt`,
		},
		{
			"from then on the number is known", "captured-0.13.19/dm_uuid_only_sender_unsealed.json",
			`text 1796054874760 from bob[bob-uuid] in bob: "Can you check the build?"; receipt`,
		},
		{
			"our own UUID is not known yet", "records-0.14.7/reaction_uuid_author.json",
			`reaction 1796060001000 from carol-uuid[] in carol-uuid: "👩🏽\u200d💻"; quotes 1796060000000 of alice-uuid[] ""`,
		},
		{
			"what we sent from another device tells it", "captured-0.13.19/sync_sent_third_party.json",
			`dropped: private`,
		},
		{
			"so it is known that the reaction is to us", "records-0.14.7/reaction_uuid_author.json",
			`reaction 1796060001000 from carol-uuid[] in carol-uuid: "👩🏽\u200d💻"; quotes 1796060000000 of alice[alice-uuid] "" (ours); addressed`,
		},
	}
	for _, s := range steps {
		if got := summary(d.decode(capture(t, s.file))); got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.why, got, s.want)
		}
	}
}

// TestNumberMoves: a number can be registered by somebody else, who is not the
// person that had it.
func TestNumberMoves(t *testing.T) {
	p := newPeople(aliceNumber)
	bob := p.learn(address{Number: bobNumber, UUID: bobUUID}, "Bob")
	eve := p.learn(address{Number: bobNumber, UUID: "eee00000-0000-4000-8000-000000000109"}, "Eve")
	if bob == eve || len(p.find(address{UUID: bobUUID}).names) != 1 || p.find(address{Number: bobNumber}) != eve {
		t.Errorf("Bob is %+v, Eve is %+v", p.find(address{UUID: bobUUID}), eve)
	}
	p.learn(address{Number: "+15555550111", UUID: aliceUUID}, "")
	p.isMe(address{UUID: aliceUUID})
	if me := p.me(); me.UUID != aliceUUID || !p.ours(address{Number: aliceNumber}) {
		t.Errorf("we are %+v", me)
	}
}

// TestSession: a whole run of a real daemon, twice. The second time brings
// what the first brought, under the same Dedup; no two messages share one.
func TestSession(t *testing.T) {
	raw, err := os.ReadFile("testdata/captured-0.13.19/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	d := decoder{people: newPeople(aliceNumber), files: folder(t.TempDir())}
	run := func() map[string]string {
		seen := map[string]string{}
		for line := range strings.Lines(string(raw)) {
			var f frame
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			m, why := d.decode(f.Params)
			if why != kept {
				continue
			}
			if other, ok := seen[m.Dedup]; ok && other != summary(m, kept) {
				t.Errorf("one Dedup for two messages:\n%s\n%s", other, summary(m, kept))
			}
			seen[m.Dedup] = summary(m, kept)
		}
		return seen
	}
	first, second := run(), run()
	if len(first) < 20 {
		t.Fatalf("%d messages in the session", len(first))
	}
	for key := range first {
		if _, ok := second[key]; !ok {
			t.Errorf("%s is not there the second time", short.Replace(key))
		}
	}
	if len(second) != len(first) {
		t.Errorf("%d messages, then %d", len(first), len(second))
	}
}
