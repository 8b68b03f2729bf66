package test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"aldis/internal/hubtest"
)

// publicName is how the proxies' files call the hub.
const publicName = "hub.example.org"

// TestThroughAProxy puts each reverse proxy that is here in front of a hub, with
// the file of dist/proxy. An event arrives while the stream that it is on stays
// open, and pages are held to our own origin, TLS and all.
func TestThroughAProxy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program string
		start   func(ctx context.Context, t *testing.T, program, port, upstream string, cert certificate) *exec.Cmd
	}{
		{"nginx", startNginx},
		{"caddy", startCaddy},
	} {
		t.Run(tt.program, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(tt.program)
			if err != nil {
				t.Skipf("there is no %s here", tt.program)
			}
			h := startHub(t, "--allowed-host", publicName)
			cert, port := newCertificate(t), proxyPort(t)
			ctx, stop := context.WithCancel(context.Background())
			proxy := tt.start(ctx, t, program, port, strings.TrimPrefix(h.url, "http://"), cert)
			log := &buffer{}
			// nginx has children to end; Caddy would wait for the streams.
			proxy.Cancel, proxy.WaitDelay = func() error { return proxy.Process.Signal(syscall.SIGTERM) }, time.Second
			proxy.Stdout, proxy.Stderr = log, log
			if err := proxy.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				stop()
				_ = proxy.Wait()
				if t.Failed() {
					t.Logf("log of %s:\n%s", tt.program, log)
				}
			})

			client := hubtest.NewClient(t, "http://"+publicName+"/mcp", token)
			client.Agent = "deploy-bot"
			client.Dial = func(ctx context.Context) (net.Conn, error) {
				d := tls.Dialer{Config: &tls.Config{ServerName: publicName, RootCAs: cert.pool}}
				return d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
			}
			eventually(t, tt.program+" answers", func() bool {
				conn, err := client.Dial(t.Context())
				return err == nil && conn.Close() == nil
			})
			client.Connect()
			stream := client.Open("")
			h.awaitPresence("deploy-bot", true)
			h.notify("cron", "deploy-bot", "through the proxy")
			if got := stream.Push().Content; got != "through the proxy" {
				t.Errorf("the stream brings %q", got)
			}
			for origin, want := range map[string]bool{"https://" + publicName: true, "http://" + publicName: false, "https://example.com": false} {
				a := client.Do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":99,"method":"ping"}`, "Origin", origin)
				if got := a.Status != http.StatusForbidden; got != want {
					t.Errorf("a page of %s is let in: %v, want %v (%s)", origin, got, want, a.Body)
				}
			}
		})
	}
}

func startNginx(ctx context.Context, t *testing.T, program, port, upstream string, cert certificate) *exec.Cmd {
	dir := t.TempDir()
	site := strings.NewReplacer("listen 443", "listen 127.0.0.1:"+port, "127.0.0.1:8765", upstream,
		"/etc/ssl/hub.example.org.pem", cert.cert, "/etc/ssl/private/hub.example.org.key", cert.key).Replace(distFile(t, "proxy/nginx.conf"))
	temp := ""
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += name + "_temp_path " + filepath.Join(dir, name) + ";\n"
	}
	conf := writeFile(t, dir, "nginx.conf", "daemon off; pid "+filepath.Join(dir, "pid")+"; error_log stderr;\nevents {}\nhttp { access_log off;\n"+temp+site+"}\n")
	return exec.CommandContext(ctx, program, "-p", dir, "-e", "stderr", "-c", conf)
}

func startCaddy(ctx context.Context, t *testing.T, program, port, upstream string, cert certificate) *exec.Cmd {
	dir := t.TempDir()
	site := strings.NewReplacer("127.0.0.1:8765", upstream,
		"\nhub.example.org {", "\n{\n\tadmin off\n\tauto_https off\n}\nhttps://hub.example.org:"+port+" {\n\tbind 127.0.0.1\n\ttls "+cert.cert+" "+cert.key).Replace(distFile(t, "proxy/Caddyfile"))
	cmd := exec.CommandContext(ctx, program, "run", "--adapter", "caddyfile", "--config", writeFile(t, dir, "Caddyfile", site))
	cmd.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}
	return cmd
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func proxyPort(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A certificate is one for publicName that is its own issuer.
type certificate struct {
	cert, key string // paths
	pool      *x509.CertPool
}

func newCertificate(t *testing.T) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{publicName}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := certificate{pool: x509.NewCertPool()}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c.cert = writeFile(t, dir, "cert.pem", string(text))
	c.key = writeFile(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})))
	c.pool.AppendCertsFromPEM(text)
	return c
}
