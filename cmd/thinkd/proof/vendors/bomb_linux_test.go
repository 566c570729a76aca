package vendors

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// flood writes so many bytes, or until nobody wants more.
func flood(w io.Writer, bytes int64, sent *atomic.Int64) {
	piece := []byte(strings.Repeat("x", 1<<20))
	for bytes > 0 {
		n, err := w.Write(piece[:min(int64(len(piece)), bytes)])
		if sent.Add(int64(n)); err != nil {
			return
		}
		bytes -= int64(n)
	}
}

// An answer of ten gigabytes, or one that would be so long if it was inflated, is an error soon, and the daemon's memory
// does not know of it: over each wire API. A single event may have 32 MiB, and costs at most three times that.
func TestBombs(t *testing.T) {
	t.Parallel()
	const size = 10 << 30
	var sent atomic.Int64
	kinds := []struct {
		name string
		most int64 // of memory, beyond what the daemon had before, in bytes
		give func(w http.ResponseWriter)
	}{
		{"gzip", 32 << 20, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
			if err != nil {
				panic(err) // the level is one
			}
			flood(z, size, &sent)
			z.Close()
		}},
		{"page", 32 << 20, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
			flood(w, size, &sent)
		}},
		{"error", 32 << 20, func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			flood(w, size, &sent)
		}},
		{"line", 96 << 20, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: ")
			flood(w, size, &sent)
		}},
		{"json", 96 << 20, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"x":"`)
			flood(w, size, &sent)
		}},
	}
	host := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for _, k := range kinds {
			if strings.HasPrefix(r.URL.Path, "/"+k.name+"/") {
				k.give(w)
				return
			}
		}
		http.NotFound(w, r)
	}))
	var config strings.Builder
	for _, k := range kinds {
		for _, api := range proof.WireAPIs {
			fmt.Fprintf(&config, "[providers.%s-%s]\napi = %q\nbase_url = \"%s/%s\"\napi_key_env = \"BOMB_KEY\"\n", k.name, api.Name, api.Name, host, k.name)
		}
	}
	// Without the race detector, with which 32 MiB of an event take seconds and more memory. It has the tests of package exchange.
	env, file, binary := []string{"BOMB_KEY=sk-of-the-test"}, proof.WriteConfig(t, config.String()), proof.PlainProgram(t)
	cmd := proof.Command(t, env, "--data", t.TempDir(), "daemon", "--config", file)
	cmd.Path, cmd.Args[0] = binary, binary
	daemon := proof.OpenCommand(t, cmd)
	daemon.Ready()
	p := daemon.Client(env, "--config", file)
	for _, k := range kinds {
		for _, api := range proof.WireAPIs {
			before := proof.MemoryOf(t, p.House.Cmd.Process.Pid).Peak
			id := p.NewSession("model_id", k.name+"-"+api.Name+"/x")
			sent.Store(0)
			end := p.Wait("the end", proof.Ended(p.Say(id, "speak")))
			after := proof.MemoryOf(t, p.House.Cmd.Process.Pid).Peak
			more := int64(after) - int64(before)
			t.Logf("%-10s %-6s %8d KiB came, %6d KiB more in memory: %.100v", api.Name, k.name, sent.Load()>>10, more>>10, end.Error)
			proof.Judge(t, more <= k.most, "%s over %s: more than %d KiB", k.name, api.Name, k.most>>10)
			if end.Error == nil || more > size/20 || sent.Load() >= size {
				t.Errorf("%s over %s: %d KiB more in memory; the turn ends with %.300s", k.name, api.Name, more>>10, end.Raw)
			}
		}
	}
	p.End()
}
