package config

import (
	"log/slog"

	"aldis/internal/hub"
)

// Common are the settings of every command.
type Common struct {
	EnvFile   string     `vars:"ALDIS_CONFIG,AGENT_SALON_CONFIG" placeholder:"PATH" help:"File of KEY=VALUE lines with these variables; the environment wins over it."`
	StateDir  string     `vars:"ALDIS_STATE_DIR" placeholder:"PATH" help:"Folder for what is kept. Default: aldis in $XDG_STATE_HOME, else in ~/.local/state; on Windows in %LocalAppData%."`
	LogLevel  slog.Level `vars:"ALDIS_LOG_LEVEL" default:"info" help:"Log this and what is worse: debug, info, warn, error."`
	LogFormat string     `vars:"ALDIS_LOG_FORMAT" enum:"text,json" default:"text" help:"Log as text or json."`
}

// Listen is where the hub listens, and so where commands find it.
type Listen struct {
	Host string `vars:"ALDIS_HOST,SIGNAL_MCP_HOST,AGENT_SALON_BIND" default:"127.0.0.1" help:"Address that the hub listens on."`
	Port Port   `vars:"ALDIS_PORT,SIGNAL_MCP_PORT,AGENT_SALON_PORT" default:"8765" help:"Port that the hub listens on; 0 takes any that is free."`
}

// Signal is the Signal account, who may use it, and what of it is seen.
type Signal struct {
	Operator         Person      `vars:"ALDIS_OPERATOR,SIGNAL_MCP_OPERATOR" placeholder:"NUMBER" help:"Whom agents write to and who may write to them; without, no Signal."`
	Account          Person      `vars:"ALDIS_ACCOUNT,SIGNAL_MCP_ACCOUNT" placeholder:"NUMBER" help:"Account of signal-cli to use. Default: the operator's own."`
	SignalCLI        Address     `name:"signal-cli" vars:"ALDIS_SIGNAL_CLI" default:"127.0.0.1:7583" help:"Where the signal-cli daemon listens: host:port or unix:/path."`
	TrustedSender    []Person    `vars:"ALDIS_TRUSTED_SENDERS,SIGNAL_MCP_TRUSTED_SENDERS" placeholder:"NUMBER" help:"Who may write to agents besides the operator; repeat for more."`
	TrustedRecipient []Recipient `vars:"ALDIS_TRUSTED_RECIPIENTS,SIGNAL_MCP_TRUSTED_RECIPIENTS" placeholder:"CHAT" help:"Whom agents may write to besides the operator and the chats that they were written from: a number, a UUID, group:ID, or * for everybody; repeat for more."`
	Groups           string      `vars:"ALDIS_GROUPS" enum:"addressed,all" default:"addressed" help:"Which messages of trusted people in groups are heard: addressed (those that quote, react to or mention us) or all."`
	MentionPattern   []Pattern   `vars:"ALDIS_MENTION_PATTERNS" sep:"none" placeholder:"REGEXP" help:"Words that count as a mention of us in a group, as a regular expression, any case; repeat for more."`
	Prefix           string      `vars:"ALDIS_PREFIX,SIGNAL_MCP_PREFIX" placeholder:"WORD" help:"Hear only texts that start with this."`
	AttachmentsDir   string      `vars:"ALDIS_ATTACHMENTS_DIR" placeholder:"PATH" help:"Where signal-cli keeps the files it receives. Default: where it does by itself."`
	AttachmentRoot   []string    `vars:"ALDIS_ATTACHMENT_ROOTS" placeholder:"PATH" help:"Folder out of which agents may send files; repeat for more."`

	Approver          []Person `vars:"ALDIS_APPROVERS" placeholder:"NUMBER" help:"Who may answer an agent's request for permission, and write to agents; repeat for more. Default: the operator alone."`
	OperatorDevice    []int    `vars:"ALDIS_OPERATOR_DEVICES" placeholder:"N" help:"Device of our own account on which such an answer counts, besides 1, the phone; repeat for more."`
	PermissionTimeout Duration `vars:"ALDIS_PERMISSION_TIMEOUT" default:"10m" help:"How long such a request is open: seconds, or like 10m."`
}

// Serve are the settings of the hub, aldis serve.
type Serve struct {
	Common
	Listen

	Demo bool `vars:"ALDIS_DEMO" help:"Try it: a phone in the browser in place of Signal, two sample agents, and tokens and a state folder that are thrown away."`

	AuthToken            Secret     `vars:"ALDIS_AUTH_TOKEN,SIGNAL_MCP_AUTH_TOKEN" placeholder:"TOKEN" help:"Token that agents and scripts share; NEW,OLD are both valid."`
	AdminToken           Secret     `vars:"ALDIS_ADMIN_TOKEN" placeholder:"TOKEN" help:"Token of whoever runs the hub. Default: made once, in admin.token in the state folder."`
	AllowUnauthenticated bool       `vars:"ALDIS_ALLOW_UNAUTHENTICATED,SIGNAL_MCP_ALLOW_UNAUTHENTICATED" help:"Let agents and scripts in without a token; on a loopback address alone."`
	AllowedHost          []HostName `vars:"ALDIS_ALLOWED_HOSTS,AGENT_SALON_ALLOWED_HOSTS" placeholder:"HOST" help:"Name under which the hub may be called too, as host or host:port; repeat for more."`

	Signal

	DefaultAgent    hub.AgentID `vars:"ALDIS_DEFAULT_AGENT,SIGNAL_MCP_DEFAULT_AGENT" placeholder:"AGENT" help:"Agent that gets what answers no other; without, all do."`
	RouteTTL        Duration    `name:"route-ttl" vars:"ALDIS_ROUTE_TTL,SIGNAL_MCP_ROUTE_TTL" default:"604800" help:"How long a reply finds the agent it answers: seconds, or like 168h."`
	RouteMaxEntries int         `vars:"ALDIS_ROUTE_MAX_ENTRIES,SIGNAL_MCP_ROUTE_MAX_ENTRIES" default:"10000" help:"How many sent messages replies may find; the oldest are forgotten first."`
	RoutesFile      string      `vars:"ALDIS_ROUTES_FILE" placeholder:"PATH" help:"Keep them over a restart in this file. Default: in memory only."`
	LabelMessages   string      `vars:"ALDIS_LABEL_MESSAGES" enum:"auto,always,never" default:"auto" help:"Start what an agent sends with its name: auto (once there are several), always or never."`
	Alias           []Alias     `vars:"ALDIS_ALIASES,AGENT_SALON_ALIASES" placeholder:"NAME=AGENT" help:"Another name for an agent as a target; repeat for more."`
	Record          string      `vars:"ALDIS_RECORD" enum:"preview,full,off" default:"preview" help:"What is kept of a message that has left every inbox: preview, full, or off (nothing on disk at all)."`
	Retain          Age         `vars:"ALDIS_RETAIN" placeholder:"AGE" help:"Delete messages from the record that are older than this, like 90d. Default: none."`
	RetainBytes     Size        `vars:"ALDIS_RETAIN_BYTES" placeholder:"SIZE" help:"Delete the oldest messages when the record has more bytes than this, like 2G. Default: none."`
	Hold            Duration    `vars:"ALDIS_HOLD" default:"24h" help:"How long an absent agent's mail waits: seconds, or like 24h."`
	Offline         string      `vars:"ALDIS_OFFLINE" enum:"fallback,hold" default:"fallback" help:"What becomes of a reply to an agent that is not there: fallback (others get it) or hold (it waits for that agent, for --hold)."`
	PairRate        int         `vars:"ALDIS_PAIR_RATE" default:"60" help:"Messages that two agents may send each other in 5 minutes before the rest waits to be looked at; 0 is no limit."`
	RateLimit       int         `vars:"ALDIS_RATE_LIMIT" default:"600" help:"Requests a minute of one agent with one token; 0 is no limit."`
	DB              string      `name:"db" vars:"ALDIS_DB,AGENT_SALON_DB" placeholder:"PATH" help:"The record. Default: aldis.db in the state folder."`
	JSONLLog        string      `name:"jsonl-log" vars:"ALDIS_JSONL_LOG,AGENT_SALON_JSONL_LOG" placeholder:"PATH" help:"Append each message, with its text, and what becomes of it to this file, a line of JSON each; opened anew on SIGHUP."`

	History     bool        `vars:"ALDIS_HISTORY" help:"Serve Signal Desktop's history too, read-only, at /history/mcp; no token of the hub opens it."`
	Desktop     Desktop     `embed:"" prefix:"history-"`
	HistoryAuth HistoryAuth `embed:"" prefix:"history-"`

	Channel   bool   `vars:"ALDIS_CHANNEL,SIGNAL_MCP_CHANNEL" default:"true" hidden:"" help:"Accepted; serve always pushes."`
	Transport string `vars:"ALDIS_TRANSPORT,SIGNAL_MCP_TRANSPORT" default:"http" hidden:"" help:"Accepted; serve always speaks http."`
}

// Import are the settings of what takes over another program's messages, aldis
// import. DB has no variable of another program: that is the file to read.
type Import struct {
	Common

	DB string `name:"db" vars:"ALDIS_DB" placeholder:"PATH" help:"The record. Default: aldis.db in the state folder."`
}

// Channel are the settings of a channel for one agent, aldis channel.
type Channel struct {
	Common
	Signal

	Listen               string `vars:"ALDIS_CHANNEL_LISTEN" placeholder:"HOST:PORT" help:"Take webhooks here too: each request becomes an event."`
	AuthToken            Secret `vars:"ALDIS_AUTH_TOKEN,SIGNAL_MCP_AUTH_TOKEN" placeholder:"TOKEN" help:"Token that those requests need."`
	AllowUnauthenticated bool   `vars:"ALDIS_ALLOW_UNAUTHENTICATED,SIGNAL_MCP_ALLOW_UNAUTHENTICATED" help:"Take them without a token; on a loopback address alone."`

	Channel   bool   `vars:"ALDIS_CHANNEL,SIGNAL_MCP_CHANNEL" default:"true" hidden:"" help:"Accepted; a channel always pushes."`
	Transport string `vars:"ALDIS_TRANSPORT,SIGNAL_MCP_TRANSPORT" default:"stdio" hidden:"" help:"Accepted; a channel always speaks stdio."`
}

// Hub is how a command finds the running hub.
type Hub struct {
	Common
	Listen

	URL string `name:"hub" vars:"ALDIS_HUB" placeholder:"URL" help:"The running hub. Default: the host and port that serve would take."`
}

// HubAdmin is [Hub] for the commands that manage it. An empty AdminToken means
// the one in the state folder.
type HubAdmin struct {
	Hub

	AdminToken Secret `vars:"ALDIS_ADMIN_TOKEN" placeholder:"TOKEN" help:"Admin token of the hub. Default: the one in its state folder."`
}

// HubSender is [Hub] for the commands that send through it. An empty Token is
// for a hub that allows it.
type HubSender struct {
	Hub

	Token Secret `vars:"ALDIS_TOKEN,ALDIS_AUTH_TOKEN,SIGNAL_MCP_AUTH_TOKEN" placeholder:"TOKEN" help:"The shared token, or an agent's."`
}

// Attach are the settings of a channel for one agent through a running hub,
// aldis attach.
type Attach struct {
	HubSender

	Agent hub.AgentID `vars:"ALDIS_AGENT" placeholder:"AGENT" help:"Name of the agent. Default: whom the token is for."`
}
