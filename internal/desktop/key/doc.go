// Package key finds the key of Signal Desktop's database, and only looks: it
// makes no item in a keyring, unlocks none, starts no service and writes no
// file.
//
// Signal keeps the key in config.json, beside its database, as 64 hexadecimal
// digits: openly ("key"), or wrapped by Electron's safeStorage ("encryptedKey",
// in hexadecimal). What the wrapping looks like is Chromium's matter
// (components/os_crypt/sync), and differs by the system:
//
//	Linux    v10  AES-128-CBC under the password "peanuts"
//	         v11  AES-128-CBC under a secret of the Secret Service or KWallet
//	macOS    v10  AES-128-CBC under a secret of the Keychain
//	Windows  v10  AES-256-GCM under a key of Local State, itself under DPAPI
//	         else DPAPI alone
//
// Its one rule is that a secret goes nowhere but into the key that it returns:
// none is logged or told in an error, and each is wiped after its use. Copies
// that the libraries below make (JSON, D-Bus, PBKDF2) are beyond its reach.
package key
