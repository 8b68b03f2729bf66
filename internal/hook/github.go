package hook

import (
	"bytes"
	"net/http"
	"net/url"
)

// github has what is told of GitHub's events (docs.github.com, Webhook events
// and payloads), by event or event.action.
var github = map[string]string{
	"ping":                        "GitHub calls this webhook for the first time[, for {repository.full_name}][, for {organization.login}]",
	"push":                        "push to {ref} of {repository.full_name} by {pusher.name}: {commits.#} commits[, the last: {head_commit.message}][ {compare}]",
	"create":                      "{ref_type} {ref} created in {repository.full_name} by {sender.login}",
	"delete":                      "{ref_type} {ref} deleted in {repository.full_name} by {sender.login}",
	"pull_request":                "pull request #{number} {action} in {repository.full_name} by {sender.login}[, merged: {pull_request.merged}]: {pull_request.title} {pull_request.html_url}",
	"pull_request_review":         "review {action} of pull request #{pull_request.number} in {repository.full_name} by {sender.login}: {review.state}[, {review.body}] {review.html_url}",
	"pull_request_review_comment": "comment {action} on pull request #{pull_request.number} in {repository.full_name} by {sender.login}[, at {comment.path}]: {comment.body} {comment.html_url}",
	"issues":                      "issue #{issue.number} {action} in {repository.full_name} by {sender.login}: {issue.title} {issue.html_url}",
	"issue_comment":               "comment {action} on #{issue.number} ({issue.title}) in {repository.full_name} by {sender.login}: {comment.body} {comment.html_url}",
	"commit_comment":              "comment {action} on commit {comment.commit_id} in {repository.full_name} by {sender.login}: {comment.body} {comment.html_url}",
	"discussion":                  "discussion #{discussion.number} {action} in {repository.full_name} by {sender.login}: {discussion.title} {discussion.html_url}",
	"discussion_comment":          "comment {action} on discussion #{discussion.number} ({discussion.title}) in {repository.full_name} by {sender.login}: {comment.body} {comment.html_url}",
	"workflow_run":                "workflow {workflow_run.name} {action}[: {workflow_run.conclusion}], on {workflow_run.head_branch} of {repository.full_name} {workflow_run.html_url}",
	"workflow_job":                "job {workflow_job.name} {action}[: {workflow_job.conclusion}], on {workflow_job.head_branch} of {repository.full_name} {workflow_job.html_url}",
	"check_run":                   "check {check_run.name} {action}[: {check_run.conclusion}], on {check_run.check_suite.head_branch} of {repository.full_name}[ {check_run.html_url}]",
	"check_suite":                 "checks {action}[: {check_suite.conclusion}], on {check_suite.head_branch} of {repository.full_name}",
	"status":                      "status {state} of commit {sha} in {repository.full_name}[, {context}][: {description}][ {target_url}]",
	"deployment_status":           "deployment to {deployment.environment} of {repository.full_name}: {deployment_status.state}[, {deployment_status.description}][ {deployment_status.environment_url}]",
	"release":                     "release {release.tag_name} {action} in {repository.full_name} by {sender.login}[: {release.name}] {release.html_url}",
	"star":                        "star {action} by {sender.login}: {repository.full_name} has {repository.stargazers_count}",
	"fork":                        "{repository.full_name} forked by {sender.login}: {forkee.html_url}",
}

// describeGitHub reads a body that is JSON, or a form that has it in payload:
// whoever tries it by hand may well say that JSON is a form.
func describeGitHub(h http.Header, body []byte) description {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		form, _ := url.ParseQuery(string(body)) // what could not be read is not there
		body = []byte(form.Get("payload"))
	}
	o, event := parseObject(body), h.Get("X-GitHub-Event")
	return description{
		event: event, delivery: h.Get("X-GitHub-Delivery"),
		text: digest(o, github, event, o.text("action")),
	}
}
