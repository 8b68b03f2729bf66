package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"aldis/internal/hub"
)

// argsOf returns the arguments of a tool.
func argsOf(t testing.TB, name string) []argument {
	t.Helper()
	for _, tool := range tools {
		if tool.name == name {
			return tool.args
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		name, tool, in string
		want           values
	}{
		{"nothing at all", "signal_list_conversations", "", values{}},
		{"null", "signal_list_conversations", "null", values{}},
		{"an empty object", "signal_list_conversations", "{}", values{}},
		{"null is left out", "signal_list_conversations", `{"limit":null,"query":null}`, values{}},
		{"each kind", "signal_search_messages", `{"query":"x","limit":5,"caseSensitive":true,"direction":"newer"}`, values{"query": "x", "limit": int64(5), "caseSensitive": true, "direction": "newer"}},
		{"a text as it is", "signal_search_messages", `{"query":" 100%_\\ <b>\u00e9 "}`, values{"query": ` 100%_\ <b>é `}},
		{"milliseconds", "signal_get_messages", `{"conversationId":"c","before":1767225600123}`, values{"conversationId": "c", "before": int64(1767225600123)}},
		{"a whole number past what a float holds", "signal_get_messages", `{"conversationId":"c","before":9007199254740993}`, values{"conversationId": "c", "before": int64(9007199254740993)}},
		{"the last one", "signal_get_messages", `{"conversationId":"c","before":9223372036854775807}`, values{"conversationId": "c", "before": int64(9223372036854775807)}},
		{"1.0 is an integer", "signal_list_conversations", `{"limit":1.0}`, values{"limit": int64(1)}},
		{"1e3 is an integer", "signal_list_conversations", `{"limit":1e3}`, values{"limit": int64(1000)}},
		{"1.767225600123e12 is an integer", "signal_get_messages", `{"conversationId":"c","after":1.767225600123e12}`, values{"conversationId": "c", "after": int64(1767225600123)}},
		{"a limit past the cap is not refused", "signal_list_conversations", `{"limit":100000000000}`, values{"limit": int64(100000000000)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(argsOf(t, tt.tool), json.RawMessage(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	for _, tt := range []struct{ name, tool, in, want string }{
		{"no object", "signal_list_conversations", `["x"]`, "the arguments must be a JSON object of limit, query"},
		{"an unknown name", "signal_list_conversations", `{"max":3}`, `there is no argument "max" here: use limit, query`},
		{"another case", "signal_list_conversations", `{"Limit":3}`, `there is no argument "Limit" here`},
		{"a missing one", "signal_get_message", `{}`, "messageId is missing (The id of a message"},
		{"a missing one that is null", "signal_get_message", `{"messageId":null}`, "messageId is missing"},
		{"an empty text", "signal_search_messages", `{"query":""}`, "query must not be empty"},
		{"a long text", "signal_search_messages", `{"query":"` + strings.Repeat("é", 600) + `"}`, "query has 1200 bytes, and may have 1024 at most"},
		{"a number as a text", "signal_get_message", `{"messageId":7}`, "messageId must be a string"},
		{"a text as a number", "signal_list_conversations", `{"limit":"7"}`, "limit must be an integer"},
		{"a fraction", "signal_list_conversations", `{"limit":1.5}`, "limit must be an integer"},
		{"a number that nobody can hold", "signal_get_messages", `{"conversationId":"c","before":9223372036854775808}`, "before must be an integer"},
		{"a huge exponent", "signal_list_conversations", `{"limit":1e999999999}`, "limit must be an integer"},
		{"zero", "signal_list_conversations", `{"limit":0}`, "limit must be 1 or more"},
		{"a negative number", "signal_list_conversations", `{"limit":-1}`, "limit must be 1 or more"},
		{"a negative time", "signal_get_messages", `{"conversationId":"c","after":-5}`, "after must be 0 or more"},
		{"a date as time", "signal_get_messages", `{"conversationId":"c","after":"2026-01-01"}`, "after must be an integer (Only messages received after this time, exclusive: Unix time in milliseconds"},
		{"another direction", "signal_get_messages", `{"conversationId":"c","direction":"up"}`, "direction must be one of older, newer"},
		{"a flag as a text", "signal_search_messages", `{"query":"x","caseSensitive":"true"}`, "caseSensitive must be true or false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(argsOf(t, tt.tool), json.RawMessage(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) || hub.KindOf(err) != hub.Invalid {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// What the schema refuses is refused; what it takes is taken, as long as its
// numbers fit.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, `[]`, `{"limit":1e3}`, `{"limit":1.0,"query":"é"}`, `{"before":9007199254740993,"conversationId":"c"}`,
		`{"messageId":"m"}`, `{"query":"x","caseSensitive":true,"direction":"newer","cursor":"c"}`, `{"around":"m","conversationId":null}`,
	} {
		f.Add(s)
	}
	resolved := map[string]*jsonschema.Resolved{}
	for _, tool := range tools {
		resolved[tool.name] = resolve(f, tool.args)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, tool := range tools {
			v, err := parse(tool.args, json.RawMessage(in))
			if err != nil {
				if hub.KindOf(err) != hub.Invalid {
					t.Fatalf("%s: %v is no word for a model", tool.name, err)
				}
				continue
			}
			if err := resolved[tool.name].Validate(map[string]any(v)); err != nil && !strings.Contains(err.Error(), "maxLength") {
				t.Fatalf("%s took %q, which its schema refuses: %v", tool.name, in, err)
			}
		}
	})
}

func resolve(t testing.TB, args []argument) *jsonschema.Resolved {
	t.Helper()
	b, err := json.Marshal(schema(args))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
