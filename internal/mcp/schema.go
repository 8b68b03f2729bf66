package mcp

// A property is one argument of a tool, in JSON Schema 2020-12.
type property struct {
	name     string
	schema   map[string]any
	required bool
}

var (
	stringType = map[string]any{"type": "string"}
	boolType   = map[string]any{"type": "boolean"}
	objectType = map[string]any{"type": "object"}
	stringList = map[string]any{"type": "array", "items": stringType}
)

func intRange(low, high int64) map[string]any {
	return map[string]any{"type": "integer", "minimum": low, "maximum": high}
}

func required(name string, schema map[string]any, description string) property {
	return describe(name, schema, description, true)
}

func optional(name string, schema map[string]any, description string) property {
	return describe(name, schema, description, false)
}

func describe(name string, schema map[string]any, description string, must bool) property {
	s := map[string]any{"description": description}
	for k, v := range schema {
		s[k] = v
	}
	return property{name, s, must}
}

// schema is written by hand: the one that the SDK derives from a struct is
// wrong for json.RawMessage, which alone keeps a number's digits.
func schema(ps ...property) map[string]any {
	props, must := map[string]any{}, []string{}
	for _, p := range ps {
		props[p.name] = p.schema
		if p.required {
			must = append(must, p.name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": must, "additionalProperties": false}
}
