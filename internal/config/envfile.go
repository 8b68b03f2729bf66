package config

import (
	"fmt"
	"strings"
)

// EnvFile returns the variables of an env file's text, as every command reads
// it.
func EnvFile(text string) map[string]string {
	vars, _ := parseEnvFile(text)
	return vars
}

// SetInEnvFile returns an env file's text with a variable set: in the line that
// counts for it, else in a new last one. All other lines stay as they are. It
// fails for what a line cannot say.
func SetInEnvFile(text, name, value string) (string, error) {
	if name == "" || strings.HasPrefix(name, "#") || strings.TrimSpace(name) != name || strings.ContainsAny(name, "=\r\n\ufeff") {
		return "", fmt.Errorf("%q cannot be the name of a variable", name)
	}
	if strings.ContainsAny(value, "\r\n") {
		return "", fmt.Errorf("%s: a value has one line", name)
	}
	if strings.TrimSpace(value) != value || strings.HasPrefix(value, `"`) {
		value = `"` + value + `"`
	}
	lines := strings.SplitAfter(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		key, _, ok := strings.Cut(strings.TrimPrefix(lines[i], "\ufeff"), "=")
		if ok && strings.TrimSpace(key) == name {
			body := strings.TrimRight(lines[i], "\r\n")
			before, _, _ := strings.Cut(body, "=")
			lines[i] = before + "=" + value + lines[i][len(body):]
			return strings.Join(lines, ""), nil
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + name + "=" + value + "\n", nil
}
