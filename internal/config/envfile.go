package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// EnvFilePath returns where the env file of this user lies unless it is put
// elsewhere: what ALDIS_CONFIG names, else aldis/aldis.env in the folder of
// settings. No command reads the latter unless it is told to.
func EnvFilePath(getenv func(string) string) (string, error) {
	if path := getenv("ALDIS_CONFIG"); path != "" {
		return filepath.Abs(path)
	}
	variable, folder := "XDG_CONFIG_HOME", ".config"
	if runtime.GOOS == "windows" {
		variable, folder = "AppData", "AppData/Roaming"
	}
	path := (&Loader{Getenv: getenv}).under(variable, folder, "aldis/aldis.env")
	if path == "" {
		return "", errors.New("no home folder to keep the settings in: set --env-file (ALDIS_CONFIG)")
	}
	return path, nil
}

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
