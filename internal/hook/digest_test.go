package hook

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

const more = " (get_message with the id of this event has the whole body)"

func TestDigests(t *testing.T) {
	const repo = `"repository":{"full_name":"o/r","stargazers_count":7},"sender":{"login":"ann"}`
	const project = `"project":{"path_with_namespace":"g/p","web_url":"https://l/g/p"},"user":{"username":"ann"},"user_username":"ann"`
	for _, tt := range []struct{ preset, event, body, want string }{
		{"github", "ping", `{"zen":"z",` + repo + `}`, "GitHub calls this webhook for the first time, for o/r"},
		{"github", "ping", `{"organization":{"login":"o"}}`, "GitHub calls this webhook for the first time, for o"},
		{
			"github", "push", `{"ref":"refs/heads/main","compare":"https://h/c","commits":[{},{}],"head_commit":{"message":"Fix it\n\nbecause"},"pusher":{"name":"ann"},` + repo + `}`,
			"push to main of o/r by ann: 2 commits, the last: Fix it because https://h/c",
		},
		{"github", "push", `{"ref":"refs/heads/old","deleted":true,"commits":[],"head_commit":null,"pusher":{"name":"ann"},` + repo + `}`, "push to old of o/r by ann: 0 commits"},
		{
			"github", "pull_request", `{"action":"opened","number":12,"pull_request":{"title":"T","html_url":"https://h/12","merged":false},` + repo + `}`,
			"pull request #12 opened in o/r by ann: T https://h/12",
		},
		{
			"github", "pull_request", `{"action":"closed","number":12,"pull_request":{"title":"T","html_url":"https://h/12","merged":true},` + repo + `}`,
			"pull request #12 closed in o/r by ann, merged: true: T https://h/12",
		},
		{
			"github", "issues", `{"action":"opened","issue":{"number":12345678901234567,"title":"a [b] {c}","html_url":"https://h/5"},` + repo + `}`,
			"issue #12345678901234567 opened in o/r by ann: a [b] {c} https://h/5",
		},
		{
			"github", "issue_comment", `{"action":"created","issue":{"number":5,"title":"T"},"comment":{"body":"hi\u202e","html_url":"https://h/5#1"},` + repo + `}`,
			"comment created on #5 (T) in o/r by ann: hi\uFFFD https://h/5#1",
		},
		{
			"github", "pull_request_review", `{"action":"submitted","pull_request":{"number":5},"review":{"state":"approved","body":null,"html_url":"https://h/r"},` + repo + `}`,
			"review submitted of pull request #5 in o/r by ann: approved https://h/r",
		},
		{
			"github", "workflow_run", `{"action":"completed","workflow_run":{"name":"CI","conclusion":"failure","head_branch":"main","html_url":"https://h/w"},` + repo + `}`,
			"workflow CI completed: failure, on main of o/r https://h/w",
		},
		{
			"github", "check_run", `{"action":"created","check_run":{"name":"lint","conclusion":null,"check_suite":{"head_branch":"main"}},` + repo + `}`,
			"check lint created, on main of o/r",
		},
		{"github", "release", `{"action":"published","release":{"tag_name":"v1","name":"One","html_url":"https://h/v1"},` + repo + `}`, "release v1 published in o/r by ann: One https://h/v1"},
		{"github", "star", `{"action":"created",` + repo + `}`, "star created by ann: o/r has 7"},
		{"github", "sponsorship", `{"action":"created"}`, "sponsorship: created" + more},
		{"github", "page_build", `{}`, "page_build:" + more},
		{"github", "issues", `{}`, "issue #? ? in ? by ?: ? ?"},
		{"github", "push", `not JSON`, "push:" + more},
		{"github", "", `not JSON`, "webhook:" + more},

		{
			"gitlab", "Push Hook", `{"object_kind":"push","ref":"refs/heads/main","total_commits_count":2,"commits":[{"title":"A"},{"title":"B"}],` + project + `}`,
			"push to main of g/p by ann: 2 commits, the last: B https://l/g/p",
		},
		{
			"gitlab", "Merge Request Hook", `{"object_kind":"merge_request","object_attributes":{"iid":3,"action":"merge","title":"T","url":"https://l/3"},` + project + `}`,
			"merge request !3 merge in g/p by ann: T https://l/3",
		},
		{
			"gitlab", "Issue Hook", `{"object_kind":"issue","object_attributes":{"iid":4,"action":"open","title":"T","url":"https://l/4"},` + project + `}`,
			"issue #4 open in g/p by ann: T https://l/4",
		},
		{
			"gitlab", "Note Hook", `{"object_kind":"note","issue":{"iid":4,"title":"T"},"object_attributes":{"note":"why?","url":"https://l/4#n"},` + project + `}`,
			"comment on issue #4 (T) in g/p by ann: why? https://l/4#n",
		},
		{
			"gitlab", "Pipeline Hook", `{"object_kind":"pipeline","object_attributes":{"id":9,"status":"failed","ref":"main"},` + project + `}`,
			"pipeline 9 failed, on main of g/p by ann",
		},
		{
			"gitlab", "Job Hook", `{"object_kind":"build","build_name":"test","build_status":"failed","ref":"main","project_name":"g / p","pipeline_id":9}`,
			"job test failed, on main of g / p, pipeline 9",
		},
		{"gitlab", "Emoji Hook", `{"object_kind":"emoji","object_attributes":{"action":"award"}}`, "emoji: award" + more},
		{"gitlab", "System Hook", `{"event_name":"user_create"}`, "user_create:" + more},

		{
			"stripe", "", `{"id":"evt_1","type":"invoice.payment_failed","livemode":true,"data":{"object":{"object":"invoice","id":"in_1","amount_paid":0,"amount_due":2050,"currency":"usd","status":"open","customer":"cus_1"}}}`,
			"invoice.payment_failed: invoice in_1, 20.50 USD, open, customer cus_1",
		},
		{
			"stripe", "", `{"type":"charge.refunded","livemode":false,"data":{"object":{"object":"charge","id":"ch_1","amount":500,"amount_refunded":5,"currency":"eur"}}}`,
			"charge.refunded: charge ch_1, 0.05 EUR (test mode)",
		},
		{"stripe", "", `{"type":"payment_intent.succeeded","data":{"object":{"object":"payment_intent","id":"pi_1","amount":500,"currency":"jpy"}}}`, "payment_intent.succeeded: payment_intent pi_1, 500 JPY"},
		{"stripe", "", `{"type":"customer.subscription.deleted","data":{"object":{"object":"subscription","id":"sub_1","status":"canceled","currency":"[x]"}}}`, "customer.subscription.deleted: subscription sub_1, canceled"},
		{"stripe", "", `{"type":"x","data":{"object":{"object":"y","amount":1,"currency":"[{event.type}]"}}}`, "x: y, 0.01 [{EVENT.TYPE}]"},
		{"stripe", "", `{"type":"x.y"}`, "x.y:" + more},
		{"stripe", "", `[]`, "webhook:" + more},
	} {
		t.Run(tt.preset+" "+tt.event+" "+tt.want, func(t *testing.T) {
			h := headers("X-GitHub-Event", tt.event, "X-Gitlab-Event", tt.event)
			if got := presets[tt.preset].describe(h, []byte(tt.body)).text; got != tt.want {
				t.Errorf("it reads\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

// What GitHub sends as a form has the JSON in a field.
func TestGitHubForm(t *testing.T) {
	h := headers("Content-Type", "application/x-www-form-urlencoded; charset=utf-8", "X-GitHub-Event", "watch")
	for _, body := range []string{
		url.Values{"payload": {`{"action":"created"}`}}.Encode(),
		`{"action":"created","x":"&payload={}"}`, // JSON after all
	} {
		if got := describeGitHub(h, []byte(body)).text; got != "watch: created"+more {
			t.Errorf("%q reads %q", body, got)
		}
	}
}

// A digest is one harmless line, whatever a stranger has put into the body.
func fuzzDigest(f *testing.F, preset string, events ...string) {
	for _, event := range events {
		f.Add(event, []byte(`{"type":"x","action":"a","object_kind":"push","commits":[{"title":"\u202e\n"}],"data":{"object":{"object":"o","amount":1,"currency":"usd"}}}`))
		f.Add(event, []byte(`{"commits":{"$":[]},"repository":"x"}`))
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		d := presets[preset].describe(headers("X-GitHub-Event", event, "X-Gitlab-Event", event, "Content-Type", "application/json"), body)
		if d.text == "" || len(d.text) > 8<<10 || !utf8.ValidString(d.text) || strings.ContainsAny(d.text, "\n\u202e\u200b\x00") {
			t.Errorf("%q", d.text)
		}
	})
}

func FuzzGitHubDigest(f *testing.F) { fuzzDigest(f, "github", "push", "pull_request", "issues", "x") }
func FuzzGitLabDigest(f *testing.F) { fuzzDigest(f, "gitlab", "Push Hook", "x") }
func FuzzStripeDigest(f *testing.F) { fuzzDigest(f, "stripe", "") }
