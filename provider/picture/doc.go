// Package picture reads the headers of images, and makes images smaller.
//
// [Read] looks at the first bytes only. [Fit] decodes an image, so it may take a second and hundreds of megabytes: its
// caller runs one Fit after the other, and not on the goroutine of a session. Fit refuses an image of more than [MaxPixels] by its
// header, before it decodes anything. The formats are PNG, JPEG, GIF and WebP. The result is a PNG or a JPEG. The same image and the same
// bounds always give the same bytes, so the prefix of a conversation does not change between two calls.
//
// All functions are pure.
//
// Inside the package, files depend in one direction: fit, scale and orientation, header.
package picture
