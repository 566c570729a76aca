package gemini

import "github.com/thinkd/thinkd/provider/sim/portable"

// mediaRules are those about images and other files. [docs: image-understanding, document-processing, audio, video-understanding]
var mediaRules = portable.MediaRules{All: 20_000_000, Types: []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf",
	"audio/wav", "audio/mpeg", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac",
	"video/mp4", "video/mpeg", "video/mov", "video/avi", "video/x-flv", "video/mpg", "video/webm", "video/wmv", "video/3gpp", "text/plain"}}
