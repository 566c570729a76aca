package mediatype

import (
	"bytes"
	"encoding/binary"
	"mime"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Types that other packages name.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
	PDF  = "application/pdf"
	WAV  = "audio/wav"
	MP3  = "audio/mpeg"

	Plain  = "text/plain"
	Binary = "application/octet-stream" // nothing is known of it
)

// Of is the MIME type of a file by its first bytes; empty: they do not tell. Text has no mark, so no type of text is returned except
// that of SVG, which is also that of a web page that a server sent in place of an image.
func Of(data []byte) string {
	starts := func(prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }
	form, brand := "", ""
	if len(data) >= 12 {
		form = string(data[8:12])
		if string(data[4:8]) == "ftyp" {
			brand = form
		}
	}
	switch {
	case starts("\x89PNG\r\n\x1a\n"):
		return PNG
	case starts("\xff\xd8\xff"):
		return JPEG
	case starts("GIF87a"), starts("GIF89a"):
		return GIF
	case starts("RIFF") && form == "WEBP":
		return WebP
	case starts("RIFF") && form == "WAVE":
		return WAV
	case starts("FORM") && (form == "AIFF" || form == "AIFC"):
		return "audio/aiff"
	case starts("%PDF-"):
		return PDF
	case starts("OggS"):
		return "audio/ogg"
	case starts("fLaC"):
		return "audio/flac"
	case starts("ID3"):
		return MP3
	case starts("BM") && len(data) >= 10 && bytes.Equal(data[6:10], make([]byte, 4)):
		return "image/bmp"
	case starts("II*\x00"), starts("MM\x00*"):
		return "image/tiff"
	case strings.HasPrefix(brand, "hei"), strings.HasPrefix(brand, "hev"):
		return "image/heic"
	case brand == "mif1", brand == "msf1":
		return "image/heif"
	case strings.HasPrefix(brand, "avi"):
		return "image/avif"
	case strings.HasPrefix(brand, "M4A"):
		return "audio/mp4"
	case bytes.HasPrefix(bytes.TrimSpace(data[:min(len(data), 100)]), []byte("<")):
		return "image/svg+xml"
	}
	return ""
}

// spellings are types that have several names. Vendors compare the name.
var spellings = map[string]string{
	"image/jpg": JPEG, "audio/x-wav": WAV, "audio/wave": WAV, "audio/vnd.wave": WAV, "audio/mp3": MP3, "audio/x-flac": "audio/flac",
	"audio/x-aiff": "audio/aiff", "audio/x-m4a": "audio/mp4", "audio/m4a": "audio/mp4", "application/x-pdf": PDF,
}

// Honest is the type of a file that somebody labelled: the one that its bytes have, if they tell, since a vendor refuses a file with
// another label, and every later request with it. Parameters are left out. Files of text keep their label.
func Honest(label string, data []byte) string {
	if kind, _, err := mime.ParseMediaType(label); err == nil {
		label = kind
	}
	if common, ok := spellings[label]; ok {
		label = common
	}
	family, _, _ := strings.Cut(label, "/")
	is := Of(data)
	switch {
	case is == "", Textual(label):
		return label
	case is == "image/svg+xml" && family != "image", is == "audio/ogg" && family == "video", is == "audio/mp4" && family == "video":
		return label
	}
	return is
}

// Textual reports whether a file of a type is text, which every model can read. SVG is an image here.
func Textual(kind string) bool {
	if strings.HasPrefix(kind, "text/") {
		return true
	}
	rest, ok := strings.CutPrefix(kind, "application/")
	if !ok {
		return false
	}
	switch rest {
	case "json", "xml", "yaml", "toml", "javascript", "ecmascript", "typescript", "sql", "graphql", "rtf", "x-sh", "x-httpd-php", "x-ndjson",
		"jsonl", "x-yaml", "x-toml", "x-javascript", "x-python", "x-tex", "x-latex", "x-www-form-urlencoded":
		return true
	}
	return strings.HasSuffix(rest, "+json") || strings.HasSuffix(rest, "+xml") || strings.HasSuffix(rest, "+yaml")
}

// byExtension are types of files that the table of the operating system may lack, or names in another way.
var byExtension = map[string]string{
	".png": PNG, ".jpg": JPEG, ".jpeg": JPEG, ".gif": GIF, ".webp": WebP, ".heic": "image/heic", ".heif": "image/heif", ".svg": "image/svg+xml",
	".pdf": PDF, ".wav": WAV, ".mp3": MP3, ".flac": "audio/flac", ".ogg": "audio/ogg", ".aiff": "audio/aiff", ".m4a": "audio/mp4", ".aac": "audio/aac",
	".txt": Plain, ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".css": "text/css", ".xml": "text/xml", ".go": "text/x-go",
	".py": "text/x-python", ".js": "text/javascript", ".ts": "text/x-typescript", ".json": "application/json", ".yaml": "application/yaml",
	".yml": "application/yaml", ".toml": "application/toml", ".sh": "text/x-shellscript", ".sql": "application/sql", ".rs": "text/x-rust", ".c": "text/x-c",
	".mp4": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm",
}

// OfFile is the type of a file by its bytes, otherwise by the end of its name, otherwise by whether it is text. It is never empty.
func OfFile(name string, data []byte) string {
	is, named := Of(data), byExtension[strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))]
	switch {
	case is == "image/svg+xml" && named != is, is == "":
		is = named
	}
	switch {
	case is != "" && !Textual(is), is != "" && IsText(data):
		return is
	case IsText(data):
		return Plain
	}
	return Binary
}

// IsText reports whether data are UTF-8 without the control character that binary files have.
func IsText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// Duration is how long a WAV file plays, by its header; 0: it is none, or the header makes no sense.
func Duration(data []byte) time.Duration {
	if Of(data) != WAV {
		return 0
	}
	rate, rest := uint64(0), data[12:]
	for len(rest) >= 8 {
		id, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:8]))
		body := rest[8:]
		switch {
		case id == "fmt " && len(body) >= 12:
			rate = uint64(binary.LittleEndian.Uint32(body[8:12]))
		case id == "data" && rate > 0:
			return time.Duration(min(size, uint64(len(body)))*1000/rate) * time.Millisecond
		}
		if size += size % 2; size > uint64(len(body)) {
			break
		}
		rest = body[size:]
	}
	return 0
}
