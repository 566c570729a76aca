package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Editors send images, sounds and files as blocks of a prompt. The session has them with the type that their data have, and a model that
// does not take them is refused before the call, with an error that names the kinds that it takes.
func TestACPFiles(t *testing.T) {
	const (
		png = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAICAAAAADVHSBLAAAAD0lEQVR42mNoQAMMAyMAAAGHQAFsOhHoAAAAAElFTkSuQmCC"
		wav = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA"
		pdf = "JVBERi0xLjQKJSVFT0YK"
	)
	image := fmt.Sprintf(`{"type":"image","mimeType":"image/jpeg","data":%q}`, png)
	sound := fmt.Sprintf(`{"type":"audio","mimeType":"audio/x-wav","data":%q}`, wav)
	blob := func(uri, kind, data string) string {
		return fmt.Sprintf(`{"type":"resource","resource":{"uri":%q,"mimeType":%q,"blob":%q}}`, uri, kind, data)
	}
	onStage(t, "say seen", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		if takes := d.got()[0].Get("result.agentCapabilities.promptCapabilities"); !takes.Get("image").Bool() || !takes.Get("audio").Bool() || !takes.Get("embeddedContext").Bool() {
			t.Errorf("initialize: %s", takes)
		}
		id := d.newSession()
		prompt := func(blocks ...string) string {
			return fmt.Sprintf(`{"sessionId":%q,"prompt":[%s]}`, id, strings.Join(blocks, ","))
		}
		for blocks, want := range map[string]string{
			sound:                                 "does not take audio (audio/wav); it takes: text, image, pdf",
			blob("a.zip", "", "UEsDBAD/"):         "does not take application/octet-stream",
			blob("a.mp4", "video/mp4", "bXA0"):    "does not take video (video/mp4)",
			blob("a.txt", "text/plain", "//4="):   "text/plain is not UTF-8 text",
			blob("a.pdf", "application/pdf", "?"): "prompt.0.resource.blob: is no base64, or empty",
		} {
			if e := d.refused("session/prompt", prompt(blocks)); e.Get("code").Int() != -32602 || !strings.Contains(e.Get("message").String(), want) {
				t.Errorf("%s: %s, want %q", blocks, e.Raw, want)
			}
		}
		asked := d.ask("session/prompt", prompt(image, blob("file:///srv/my%20plan.pdf?v=1", "", pdf), blob("file:///srv/notes.md", "", "IyBOb3Rlcwo="), `{"type":"text","text":"Why?"}`))
		time.Sleep(time.Second)
		if end, _ := d.answer(asked); end.Get("result.stopReason").String() != "end_turn" {
			t.Fatalf("%s", end.Raw)
		}
		content := s.result("session/history", map[string]any{"session_id": id}).Get("messages.0.content")
		var got []string
		for _, b := range content.Array() {
			got = append(got, strings.Join([]string{b.Get("type").String(), b.Get("mime_type").String(), b.Get("name").String(), b.Get("text").String()}, " "))
		}
		want := "media image/png  |media application/pdf my plan.pdf |media text/markdown notes.md |text   Why?"
		if strings.Join(got, "|") != want {
			t.Errorf("the session has %q, want %q", strings.Join(got, "|"), want)
		}
	})
}
