package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// examples are what --help of a command shows below its description, by the
// command's path. A command with a Help method has its own there.
var examples = map[string]string{
	"serve": `
aldis serve --demo
aldis serve --env-file ~/.config/aldis/aldis.env
aldis serve --operator +15551234567 --default-agent crush-signal   # the token: ALDIS_AUTH_TOKEN`,
	"channel": `
aldis channel --operator +15551234567
aldis channel --listen 127.0.0.1:8788 --allow-unauthenticated      # webhooks for one agent`,
	"attach": `
aldis attach --agent deploy-bot                                    # the token: ALDIS_TOKEN
aldis attach --hub https://hub.example                             # as the agent that the token is for`,
	"send": `
aldis send --agent deploy-bot "Roll out 1.4.2?"
aldis send --agent deploy-bot --chat +15557654321 - < report.txt`,
	"notify": `
aldis notify --label ci --to deploy-bot "Build 214 is green"
make test 2>&1 | tail -n 20 | aldis notify --label ci --meta kind=status -`,
	"status": `
aldis status
aldis status --json | jq -r '.sessions[] | select(.state == "deaf") | .agent'`,
	"log": `
aldis log --since 2h --with deploy-bot
aldis log --text "build fail" --json
aldis log --follow | cut -f 3,6                                    # who said what`,
	"hook add": `
aldis hook add repo --agent deploy-bot --preset github --secret-env GITHUB_SECRET
aldis hook add ci --agent deploy-bot                               # needs the shared token`,
	"hook list":       `aldis hook list | cut -f 1,6`,
	"hook remove":     `aldis hook remove repo`,
	"token add":       `ALDIS_TOKEN=$(aldis token add deploy-bot)`,
	"token list":      `aldis token list | cut -f 1,2`,
	"token revoke":    `aldis token revoke ID`,
	"access list":     `aldis access list --json`,
	"access pair":     `aldis access pair kxqpmw`,
	"access deny":     `aldis access deny kxqpmw`,
	"access allow":    `aldis access allow +15557654321 --name Bob`,
	"access remove":   `aldis access remove +15557654321`,
	"access policy":   `aldis access policy pairing`,
	"access rebind":   `aldis access rebind +15557654321`,
	"access group rm": `aldis access group rm group:zFNrL+gz/+LssRB/OiIbwjblXx63iddHEZiepvunCiM=`,
	"access group add": `
aldis access group add group:zFNrL+gz/+LssRB/OiIbwjblXx63iddHEZiepvunCiM=`,
	"history": `
aldis history < /dev/null                                          # can it read?
aldis history --grant conversation=ID --since 90d
aldis history --transport http --public-url https://history.example/mcp`,
	"import salon": `aldis import salon ./agent-salon.db`,
	"version":      `aldis version --json`,
	"completion":   `aldis completion bash > ~/.local/share/bash-completion/completions/aldis`,
	"demo-agent":   `aldis demo-agent night-shift --hub http://127.0.0.1:8765 --token=TOKEN`,
}

// withExamples gives commands their examples. It is a [kong.PostBuild].
func withExamples(k *kong.Kong) error {
	for _, command := range k.Model.Leaves(true) {
		if lines := examples[commandName(command)]; lines != "" && command.Detail == "" {
			command.Detail = "Examples:\n  " + strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n  ")
		}
	}
	return nil
}

// commandName is how command is called, after the program's own name.
func commandName(command *kong.Node) string {
	_, name, _ := strings.Cut(command.FullPath(), " ")
	return name
}
