package doctor

// Release judges a version of signal-cli, as it tells it itself.
func Release(signalCLI string) Result { return Daemon{Version: signalCLI}.release() }
