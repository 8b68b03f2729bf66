package config

// Doctor are the settings of the hub as aldis doctor reads them: it starts
// nothing, so what is wrong with them is told by Wrong, and is no error.
type Doctor struct {
	Serve

	URL string `name:"hub" vars:"ALDIS_HUB" placeholder:"URL" help:"The running hub. Default: the host and port that serve would take."`

	loader *Loader
}

// BeforeResolve has the loader note what is wrong. Kong calls it.
func (d *Doctor) BeforeResolve(l *Loader) error {
	l.tolerant, d.loader = true, l
	return nil
}

// AfterApply finds the hub. Kong calls it.
func (d *Doctor) AfterApply(l *Loader) error {
	at := Hub{Listen: d.Listen, URL: d.URL}
	err := at.AfterApply()
	d.URL = at.URL
	return l.note(err)
}

// Wrong returns why aldis serve would not start with these settings.
func (d *Doctor) Wrong() (wrong []error) {
	for _, err := range d.loader.wrong {
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			wrong = append(wrong, several.Unwrap()...)
		} else {
			wrong = append(wrong, err)
		}
	}
	return wrong
}

// Known returns the variables that set anything, of whatever command.
func (d *Doctor) Known() []string { return d.loader.known }

// InFile returns the variables of the env file, and the numbers of its lines,
// from 1, that are neither one nor a comment.
func (d *Doctor) InFile() (names []string, skipped []int) {
	for name := range d.loader.file {
		names = append(names, name)
	}
	return names, d.loader.skipped
}

// Odd returns what aldis serve would warn of.
func (d *Doctor) Odd() []string { return d.loader.Warnings }
