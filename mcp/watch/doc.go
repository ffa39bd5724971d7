// Package watch watches directories for whoever keeps something of the disk:
// within a bound, and telling once when changes will be noticed late.
package watch
