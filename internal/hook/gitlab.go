package hook

import (
	"cmp"
	"net/http"
)

// gitlab has what is told of GitLab's events (docs.gitlab.com, Webhook events),
// by object_kind.
var gitlab = map[string]string{
	"push":          "push to {ref} of {project.path_with_namespace} by {user_username}: {total_commits_count} commits[, the last: {commits.$.title}] {project.web_url}",
	"tag_push":      "tag {ref} pushed to {project.path_with_namespace} by {user_username} {project.web_url}",
	"merge_request": "merge request !{object_attributes.iid}[ {object_attributes.action}] in {project.path_with_namespace} by {user.username}: {object_attributes.title} {object_attributes.url}",
	"issue":         "issue #{object_attributes.iid}[ {object_attributes.action}] in {project.path_with_namespace} by {user.username}: {object_attributes.title} {object_attributes.url}",
	"work_item":     "work item #{object_attributes.iid}[ {object_attributes.action}] in {project.path_with_namespace} by {user.username}: {object_attributes.title} {object_attributes.url}",
	"note":          "comment on[ merge request !{merge_request.iid} ({merge_request.title})][ issue #{issue.iid} ({issue.title})][ commit {commit.id}][ snippet {snippet.title}] in {project.path_with_namespace} by {user.username}: {object_attributes.note} {object_attributes.url}",
	"pipeline":      "pipeline {object_attributes.id} {object_attributes.status}, on {object_attributes.ref} of {project.path_with_namespace} by {user.username}[ {object_attributes.url}]",
	"build":         "job {build_name} {build_status}, on {ref} of {project_name}, pipeline {pipeline_id}[ {project.web_url}]",
	"deployment":    "deployment to {environment} of {project.path_with_namespace}: {status}[ {deployable_url}]",
	"release":       "release {tag} {action} in {project.path_with_namespace}[: {name}] {url}",
	"wiki_page":     "wiki page {object_attributes.action} in {project.path_with_namespace} by {user.username}: {object_attributes.title} {object_attributes.url}",
}

// describeGitLab takes for the id of the delivery what stays the same when
// GitLab tries again. X-Gitlab-Event-UUID, which is all that versions before
// 17.4 send, may be shared by events that one event has brought about.
func describeGitLab(h http.Header, body []byte) description {
	o, event := parseObject(body), h.Get("X-Gitlab-Event")
	_, delivery := first(h, "Webhook-Id", "Idempotency-Key", "X-Gitlab-Event-UUID")
	return description{
		event: event, delivery: delivery,
		text: digest(o, gitlab, cmp.Or(o.text("object_kind"), o.text("event_name"), event), o.text("object_attributes.action")),
	}
}
