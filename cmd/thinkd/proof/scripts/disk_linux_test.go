package scripts

import "golang.org/x/sys/unix"

// makeReadOnly mounts the directory over itself, read-only: permissions alone would not keep root from writing.
func makeReadOnly(dir string) (undo func(), err error) {
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return nil, err
	}
	undo = func() { unix.Unmount(dir, unix.MNT_DETACH) }
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}
