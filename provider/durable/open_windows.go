package durable

import "os"

// noFollow: Windows has no such flag; Open looks before it opens.
const noFollow = 0

// ownerOf knows no owner: Windows has no number for one.
func ownerOf(os.FileInfo) (uid int, known bool) { return 0, false }
