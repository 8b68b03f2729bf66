package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// shells has a script for each shell. They all ask aldis complete.
//
//go:embed completion
var shells embed.FS

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"Whose script: bash, zsh, fish or powershell. Its first lines say where it goes."`
}

func (c completionCmd) Run(e env) error {
	script, err := shells.ReadFile("completion/" + c.Shell)
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(script)
	return err
}

// completeCmd prints what may come next, one a line: the word, a tab and its
// help. It prints nothing where a file or a free text may come.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"What is on the line after aldis; the last is to be completed."`
}

func (c completeCmd) Run(k *kong.Context, e env) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, s := range complete(k.Model.Node, words) {
		if _, err := fmt.Fprintf(e.stdout, "%s\t%s\n", s.word, s.help); err != nil {
			return err
		}
	}
	return nil
}

// A suggestion is a word that may come next.
type suggestion struct{ word, help string }

// complete returns what the last of words can become on a command line that
// starts at node.
func complete(node *kong.Node, words []string) []suggestion {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], strings.TrimSpace(words[len(words)-1])
	if last == "=" { // bash: --flag = value
		last = ""
	}
	node, waits := walk(node, before)
	name, value, joined := strings.Cut(last, "=")
	switch {
	case slices.Contains(before, "--"):
		return nil
	case waits != nil:
		return starting(values(waits.Value, ""), last)
	case joined && strings.HasPrefix(name, "-"):
		if f := needsValue(node, name); f != nil {
			return starting(values(f.Value, name+"="), name+"="+value)
		}
		return nil
	case strings.HasPrefix(last, "-"):
		return starting(flags(node), last)
	default:
		return starting(nextWords(node), last)
	}
}

// walk follows words from node to the command that they name, and to the flag
// whose value comes next, if one waits for it.
func walk(node *kong.Node, words []string) (command *kong.Node, waits *kong.Flag) {
	for _, word := range words {
		switch {
		case word == "=":
		case waits != nil:
			waits = nil
		case strings.HasPrefix(word, "-"):
			waits = needsValue(node, word)
		default:
			node = step(node, word)
		}
	}
	return node, waits
}

// step goes to the command called word below node, if there is one.
func step(node *kong.Node, word string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == word || slices.Contains(child.Aliases, word) {
			return child
		}
	}
	return node
}

// needsValue returns the flag that word is, if a value follows it.
func needsValue(node *kong.Node, word string) *kong.Flag {
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			short := f.Short != 0 && word == "-"+string(f.Short)
			if (word == "--"+f.Name || short) && !f.IsBool() && !f.IsCounter() {
				return f
			}
		}
	}
	return nil
}

func flags(node *kong.Node) (list []suggestion) {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			list = append(list, suggestion{"--" + f.Name, f.Help})
		}
	}
	return list
}

// nextWords are the commands below node, and the values of its arguments.
func nextWords(node *kong.Node) (list []suggestion) {
	for _, child := range node.Children {
		if !child.Hidden {
			list = append(list, suggestion{child.Name, child.Help})
		}
	}
	for _, p := range node.Positional {
		list = append(list, values(p, "")...)
	}
	return list
}

// values are what v may be, if there are few.
func values(v *kong.Value, before string) (list []suggestion) {
	for _, s := range v.EnumSlice() {
		if s != "" {
			list = append(list, suggestion{before + s, ""})
		}
	}
	return list
}

func starting(list []suggestion, with string) []suggestion {
	return slices.DeleteFunc(list, func(s suggestion) bool { return !strings.HasPrefix(s.word, with) })
}
