package blocks

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/mediatype"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/wire"
)

// Prompt is a block of a prompt, of any type.
type Prompt struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIME     string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI  string  `json:"uri"`
		Text *string `json:"text"`
		Blob string  `json:"blob"`
		MIME string  `json:"mimeType"`
	} `json:"resource"`
}

// Read returns what a prompt says. A link becomes text that names it. A blob is a file: whether the model takes it is decided before the
// call. The content is never empty. Errors are *[conn.Error] and name the block.
func Read(blocks []Prompt) (provider.Blocks, error) {
	var said provider.Blocks
	for i, b := range blocks {
		at := fmt.Sprintf("prompt.%d", i)
		switch b.Type {
		case "text":
			if strings.TrimSpace(b.Text) != "" {
				said = append(said, provider.Text{Text: b.Text})
			}
		case "image", "audio":
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil || len(data) == 0 {
				return nil, conn.InvalidParams(at+".data", "is no base64, or empty")
			}
			said = append(said, provider.Media{Type: b.MIME, Data: data})
		case "resource_link":
			said = append(said, provider.Text{Text: fmt.Sprintf("[%s](%s)", b.Name, b.URI)})
		case "resource":
			r := b.Resource
			switch {
			case r.Text != nil:
				said = append(said, provider.Text{Text: fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.URI, *r.Text)})
			default:
				data, err := base64.StdEncoding.DecodeString(r.Blob)
				if err != nil || len(data) == 0 {
					return nil, conn.InvalidParams(at+".resource.blob", "is no base64, or empty")
				}
				name := fileName(r.URI)
				said = append(said, provider.Media{Type: cmp.Or(r.MIME, mediatype.OfFile(name, data)), Name: name, Data: data})
			}
		default:
			return nil, conn.InvalidParams(at+".type", "%q is none of text, image, audio, resource_link, resource", wire.Characters(b.Type, 100))
		}
	}
	if len(said) == 0 {
		return nil, conn.InvalidParams("prompt", "is empty")
	}
	return said, nil
}

// fileName is the name of the file that an address names, of at most 60 characters.
func fileName(uri string) string {
	address, _, _ := strings.Cut(uri, "?")
	name := path.Base(address)
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	if name == "." || name == "/" {
		return ""
	}
	return wire.Characters(name, 60)
}
