package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// setMedia adds the limits of a vendor to those of a row, member by member. Limits of kinds that the model does not take are left out.
func setMedia(m *provider.Model, v *VendorMedia) {
	if v == nil {
		return
	}
	row := provider.MediaLimits{}
	if m.Media != nil {
		row = *m.Media
	}
	kind := func(name string, row, vendor provider.KindLimits) provider.KindLimits {
		if len(m.Input) > 0 && !slices.Contains(m.Input, name) {
			return provider.KindLimits{}
		}
		return mergedKind(row, vendor)
	}
	merged := provider.MediaLimits{Bytes: cmp.Or(row.Bytes, v.Bytes), Image: kind(provider.MediaImage, row.Image, v.Image),
		PDF: kind(provider.MediaPDF, row.PDF, v.PDF), Audio: kind(provider.MediaAudio, row.Audio, v.Audio)}
	if mediaText(&merged) == "" || len(m.Input) == 1 && m.Input[0] == provider.MediaText {
		return
	}
	m.Media = &merged
	m.Facts.Media = provider.Fact{State: provider.FactConfirmed, Source: v.Source, AsOf: v.AsOf}
	if fromTable(v.Source) {
		m.Facts.Media.State = provider.FactTable
	}
}

func mergedKind(row, vendor provider.KindLimits) provider.KindLimits {
	k := provider.KindLimits{Types: row.Types, Bytes: cmp.Or(row.Bytes, vendor.Bytes), Count: cmp.Or(row.Count, vendor.Count), Side: cmp.Or(row.Side, vendor.Side),
		Pixels: cmp.Or(row.Pixels, vendor.Pixels), Pages: cmp.Or(row.Pages, vendor.Pages), Many: cmp.Or(row.Many, vendor.Many), ManySide: cmp.Or(row.ManySide, vendor.ManySide),
		Tokens: cmp.Or(row.Tokens, vendor.Tokens)}
	if k.Types == nil {
		k.Types = vendor.Types
	}
	return k
}

// errMedia is of limits in a list that make no sense: they are left out.
var errMedia = errors.New("no limits of media")

// checkMedia refuses limits that make no sense.
func checkMedia(l *provider.MediaLimits, bad complaint) error {
	if l == nil {
		return nil
	}
	if l.Bytes < 0 {
		return bad("media.max_bytes", "%d is not a number of bytes", l.Bytes)
	}
	for name, k := range map[string]provider.KindLimits{"image": l.Image, "pdf": l.PDF, "audio": l.Audio} {
		for member, n := range map[string]int{"max_bytes": k.Bytes, "max_count": k.Count, "max_side": k.Side, "max_pixels": k.Pixels, "max_pages": k.Pages, "many": k.Many, "many_max_side": k.ManySide} {
			if n < 0 {
				return bad("media."+name+"."+member, "%d is below 0", n)
			}
		}
		for _, kind := range k.Types {
			if (provider.Media{Type: kind}).Kind() != name {
				return bad("media."+name+".types", "%q is no type of this kind", kind)
			}
		}
		if k.Many > 0 != (k.ManySide > 0) {
			return bad("media."+name+".many", "many and many_max_side go together")
		}
	}
	return nil
}

// mediaText writes limits for people; empty: none are known.
func mediaText(l *provider.MediaLimits) string {
	if l == nil {
		return ""
	}
	var list []string
	for _, kind := range []string{provider.MediaImage, provider.MediaPDF, provider.MediaAudio} {
		if text := kindText(l.Of(kind)); text != "" {
			list = append(list, kind+": "+text)
		}
	}
	if l.Bytes > 0 {
		list = append(list, "all: "+megabytes(l.Bytes))
	}
	return strings.Join(list, "; ")
}

// MediaText writes the limits of a model for people; empty: none are known.
func MediaText(m provider.Model) string { return mediaText(m.Media) }

func kindText(k provider.KindLimits) string {
	var list []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(k.Count, "at most %d", k.Count)
	add(k.Pages, "%d pages", k.Pages)
	add(k.Bytes, "%s each", megabytes(k.Bytes))
	add(k.Side, "%d pixels a side", k.Side)
	add(k.Many, "%d if there are more than %d", k.ManySide, k.Many)
	add(k.Pixels, "%.1f megapixels", float64(k.Pixels)/1e6)
	if len(k.Types) > 0 {
		var types []string
		for _, t := range k.Types {
			_, name, _ := strings.Cut(t, "/")
			types = append(types, name)
		}
		list = append(list, strings.Join(types, " "))
	}
	return strings.Join(list, ", ")
}

// megabytes writes a size in MB, as vendors do.
func megabytes(n int) string {
	if n%1_000_000 != 0 {
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}
