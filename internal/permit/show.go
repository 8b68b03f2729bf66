package permit

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"aldis/internal/hub"
)

// mark is what every request for permission starts with on the phone, and no
// other message may contain.
const mark = "🔐"

// The bounds, in bytes, of what an agent has shown on the phone.
const (
	maxName        = 128
	maxDescription = 500
	maxPreview     = 1000
	maxQuestion    = 2000
	maxChoice      = 100
	maxChoices     = 20
)

// Unmark takes the mark of a request for permission out of what an agent says.
func Unmark(text string) string { return strings.ReplaceAll(text, mark, "") }

// Text is what the phone shows of a request for permission: who wants to do
// what, as the agent has described it, and how to answer. All of it is the
// agent's word, and made harmless.
func Text(p hub.Prompt, name, description, preview string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s asks to use %s\n", mark, line(name, maxName), line(p.Tool, maxName))
	if description = harmless(description, maxDescription); description != "" {
		fmt.Fprintf(&b, "%s\n", barred(description))
	}
	if preview = harmless(readable(preview), maxPreview); preview != "" {
		fmt.Fprintf(&b, "%s\n", barred(preview))
	}
	fmt.Fprintf(&b, "\nAnswer “yes %s” or “no %[1]s”, or reply to this with yes or no, or react 👍 or 👎. Open for %s.", p.Code, spell(p.Expires.Sub(p.Opened)))
	return b.String()
}

// Question is what the phone shows of a question. It fails with Invalid where
// there is nothing to show, or too much.
func Question(p hub.Prompt, name, question string) (string, error) {
	question = harmless(question, maxQuestion)
	if question == "" {
		return "", hub.Errorf(hub.Invalid, "question is empty")
	}
	if len(p.Choices) > maxChoices {
		return "", hub.Errorf(hub.Invalid, "there are %d choices; a person is asked to choose from at most %d", len(p.Choices), maxChoices)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "❓ %s asks: %s\n", line(name, maxName), question)
	for i, c := range p.Choices {
		if c = Choice(c); c == "" {
			return "", hub.Errorf(hub.Invalid, "choice %d is empty", i+1)
		}
		fmt.Fprintf(&b, "\n%d. %s", i+1, c)
	}
	how := "Reply to this message."
	if len(p.Choices) > 0 {
		how = "Reply with a number, or to this message in words."
	}
	fmt.Fprintf(&b, "\n\n%s", how)
	return b.String(), nil
}

// Choice is how one of a question's choices is shown; empty: there is nothing to
// show.
func Choice(s string) string { return line(s, maxChoice) }

// barred draws a bar beside an agent's words, or they could go on with an answer
// of their own choice.
func barred(s string) string { return "│ " + strings.ReplaceAll(s, "\n", "\n│ ") }

// line is harmless on one line.
func line(s string, max int) string {
	return strings.Join(strings.Fields(harmless(s, max)), " ")
}

// harmless makes an agent's words fit to be shown where a person decides by
// them: nothing in them is hidden or turned around, they do not look like a
// request of ours, and secrets are masked.
func harmless(s string, max int) string {
	s = maskSecrets(Unmark(visible(hub.Clip(s, 4*max))))
	s = strings.TrimSpace(s)
	if len(s) > max {
		return hub.Clip(s, max-len("…")) + "…"
	}
	return s
}

// visible spells characters out that show nothing by themselves, or turn text
// around: the joiners and selectors that emoji are made of, too.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && r != '\t' && r != ' ' && hidden(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// blanks are characters that show nothing, though Unicode has them as letters,
// marks and symbols.
const blanks = "\u2800\U00013441\U00013442\U00016FE4\U0001D159"

func hidden(r rune) bool {
	return strings.ContainsRune(blanks, r) || unicode.IsSpace(r) || unicode.IsControl(r) ||
		unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// secrets are shapes of secrets. Where there is a group, only that is masked.
var secrets = regexp.MustCompile(strings.Join([]string{
	`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----` +
		`(?:\s|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment): [\w ,.-]*|[A-Za-z0-9+/=]{20,})*` + // its lines, and no more
		`(?:[A-Za-z0-9+/=]*(?:(?:\s|\\[nr])*-----END [A-Z ]*-----|\z))?`,
	`\b(?:sk|pk|rk|whsec|aldis)[-_][A-Za-z0-9_-]{16,}`,
	`\b(?:gh[pousr]_|github_pat_|glpat-|npm_|xox[abeoprs]-|hf_)[A-Za-z0-9_-]{10,}`,
	`\b(?:AKIA|ASIA)[A-Z0-9]{12,}`,
	`\bAIza[A-Za-z0-9_-]{20,}`,
	`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`,
}, "|"))

// named are secrets that are known by what stands before them. What a shell
// would carry out is none, or an agent could hide it behind such a name.
var named = regexp.MustCompile(`(?i)((?:bearer|basic) +|--[a-z-]*(?:password|passphrase|secret|token|api-key) +["']?|://[^\s/:@]*:|(?:passw(?:or)?d|passphrase|secret|token|api[-_]?key|access[-_]?key)["']?\s*[=:]\s*["']?)([^\s"'&@$\x60;|()<>]{6,})`)

func maskSecrets(s string) string {
	return named.ReplaceAllString(secrets.ReplaceAllString(s, "[secret]"), "${1}[secret]")
}

// ends are what may be missing of JSON that was cut off. What is cut within a
// text says so.
var ends = []string{"", `…"}`, `…"]}`, `…"}}`, "}", "]}", "}}", `":""}`, `""}`, "null}"}

// halfEscape is an escape that was cut off.
var halfEscape = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{0,3})?$`)

// readable spells the preview of a tool's input, which is JSON and may be cut
// off anywhere, as lines of "name: value". What can't be read stays as it is.
func readable(preview string) string {
	var fields map[string]json.RawMessage
	cut := false
	for i, end := range ends {
		if cut = i > 0; cut {
			preview = halfEscape.ReplaceAllString(preview, "")
		}
		if json.Unmarshal([]byte(preview+end), &fields) == nil {
			break
		}
		fields = nil
	}
	if len(fields) == 0 {
		return preview
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var value string
		if json.Unmarshal(fields[name], &value) != nil {
			value = string(fields[name])
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}

// spell spells a duration as people do.
func spell(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.Round(time.Second).String()
}
