package doctor

import (
	"io/fs"
	"time"
)

// Facts are what was found out about a set-up. The zero value of each is that
// nothing is known.
type Facts struct {
	Version string    // of this program
	Built   time.Time // when the newest of its sources is from
	Now     time.Time

	Settings Settings
	Hub      Hub
	Folder   Folder
	Access   Access
	Daemon   Daemon
	Sessions []Session // of the running hub
	History  History
	Canary   *Canary // nil: none was sent

	Clients   []Client
	Switches  []Switch
	BadFiles  []BadFile
	NoClients string // why clients' files were not looked for
}

// Settings are those with which aldis serve would start here.
type Settings struct {
	EnvFile string
	EnvMode fs.FileMode // its permissions; 0: not known, or none that count
	Skipped []int       // lines of it that set nothing
	Names   []string    // variables that are set, in the file or the environment
	Known   []string    // variables that there are
	Wrong   []string    // why it would not start
	Odd     []string    // what it would warn of

	Operator     bool // Signal is wanted
	Token        bool // there is a shared token
	DefaultAgent string
}

// A Presence is what is at an address.
type Presence string

// What can be at the hub's address.
const (
	Nobody    Presence = "nobody"    // it is free
	Silent    Presence = "silent"    // it cannot be reached, or does not answer
	Foreign   Presence = "foreign"   // another program
	Refusing  Presence = "refusing"  // a hub that does not go by this name
	Ours      Presence = "ours"      // a hub
	Unplaced  Presence = "unplaced"  // the settings name no port
	Unsettled Presence = "unsettled" // there is no address to ask at
)

// A Verdict is what a hub said of a token.
type Verdict string

// The verdicts. The zero Verdict is that it was not asked.
const (
	Accepted  Verdict = "accepted"
	Unknown   Verdict = "unknown"    // it is none of its tokens
	WrongKind Verdict = "wrong kind" // it is one, but for something else, or for another agent
	NoToken   Verdict = "no token"   // there is none to show
)

// A Hub is what was found at the hub's address.
type Hub struct {
	URL       string
	Presence  Presence
	Why       string        // it is Silent, or what a Foreign program said
	Elsewhere string        // URL of the hub that has this state folder, if it is another one
	Version   string        // as it says
	NotReady  string        // why it takes no messages
	Skew      time.Duration // of its clock before ours; whole seconds
	Shared    Verdict
	Admin     Verdict
	AdminFile string // why the admin's token could not be read
}

func (h Hub) up() bool { return h.Presence == Ours }

// A Folder is the state folder, and the record.
type Folder struct {
	Path     string
	Missing  bool
	Why      string      // it cannot be looked at
	Mode     fs.FileMode // its permissions; 0: none that count
	Open     []string    // files, of those that are kept, that others may read
	Owner    string      // if that is somebody else
	Unusable string      // why nothing can be written in it
	Free     uint64      // bytes on its disk; 0: not known

	Record   string // path
	Off      bool   // there is to be none
	NoRecord string // why what lies there cannot be one
	ReadOnly string // why it cannot be written
	Newest   time.Time
}

// An Access is what is known of access.json.
type Access struct {
	Policy  string   // empty: not known
	Trouble string   // why nobody but the operator comes in
	Moved   []string // numbers that are somebody else's now
}

// A Fault is why there is no talking to a signal-cli daemon.
type Fault string

// The faults.
const (
	NoSocket   Fault = "no socket"  // there is no such file
	NoRight    Fault = "no right"   // we may not connect
	Refused    Fault = "refused"    // nobody listens
	HTTP       Fault = "http"       // it speaks HTTP
	NoDaemon   Fault = "no daemon"  // it speaks something else
	NoAnswer   Fault = "no answer"  // it says nothing
	NoRoute    Fault = "no route"   // the address cannot be reached
	NotAsked   Fault = "not asked"  // it is there, and asking could lose messages
	HubOffline Fault = "hub is off" // the running hub is not joined to it
)

// A Daemon is signal-cli's, as far as it was found out.
type Daemon struct {
	Address  string
	Local    bool // it is on this machine
	Fault    Fault
	Why      string // the fault, in the words of the system
	Version  string
	Accounts int  // that it has; 0: not known
	Missing  bool // our account is none of them
	Joined   bool // the running hub has a connection
	Paused   bool // Signal wants something before more is sent
	Last     time.Time
	Skipped  uint64 // lines that the hub could not read

	Process bool   // it was found among the processes
	Mode    string // in which it receives
	Java    string // version
}

// A Session is one of an agent with the hub.
type Session struct {
	ID, Agent, State, Client string
	Evicted                  bool
}

// A Client is a server in an AI client's file that leads to a hub.
type Client struct {
	ID    string // "claude-code", "crush", … as aldis install has it
	Where string // file and line
	Name  string // of the server

	Verb    string // of aldis, which it starts: attach, channel, history; empty: it calls the hub itself
	Absent  string // the program that it is to start, if that is not there
	Off     bool   // the client is told to leave the server alone
	URL     string // of the hub
	Here    bool   // that is where ours is
	Agent   string // as it names itself
	Own     bool   // its token says who it is
	Token   Verdict
	Literal bool   // its token stands in the file
	Unset   string // the variable that is to hold its token, and is not set here
}

// A Switch keeps what is pushed from Claude Code's model, or may.
type Switch struct {
	Name, Value string
	Where       string // "the environment", or a file
	Means       string // what follows
	Managed     bool   // it is in a policy, which a user cannot change
}

// A BadFile is a client's that cannot be read.
type BadFile struct {
	Client, Why string // Why names the file
}

// A History is Signal Desktop's.
type History struct {
	Wanted bool   // the settings have it served
	Folder string // where it is; empty: nowhere
	Key    string // why its key was not found; empty: it was
}

// A Gate is how far a canary got.
type Gate string

// The gates, in order.
const (
	NotAccepted  Gate = "not accepted"
	Decided      Gate = "decided" // for nobody
	Queued       Gate = "queued"
	Written      Gate = "written"
	HandedOver   Gate = "handed over"
	Acknowledged Gate = "acknowledged"
	Undelivered  Gate = "failed"
)

// A Canary is a harmless message that was sent to an agent.
type Canary struct {
	Agent  string
	ID     string
	Gate   Gate
	Why    string // it was not accepted, or failed
	Waited time.Duration
}
