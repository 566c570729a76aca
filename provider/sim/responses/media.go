package responses

import "github.com/thinkd/thinkd/provider/sim/portable"

// mediaRules are those about images and other files. [docs: images-vision, file-inputs]
var mediaRules = portable.MediaRules{Types: []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}, All: 50_000_000, Images: 500}
