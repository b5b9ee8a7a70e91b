package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cometbft/cometbft/crypto"
	cmttypes "github.com/cometbft/cometbft/types"
	simtestutil "github.com/cosmos/cosmos-sdk/testutil/sims"
	sdk "github.com/cosmos/cosmos-sdk/types"
	authtypes "github.com/cosmos/cosmos-sdk/x/auth/types"
	banktypes "github.com/cosmos/cosmos-sdk/x/bank/types"
)

// accountFlags collects every --account=address=coins.
type accountFlags []string

func (a *accountFlags) String() string { return strings.Join(*a, " ") }

func (a *accountFlags) Set(value string) error {
	*a = append(*a, value)
	return nil
}

// genesis has the accounts in the order of their flags and one validator.
func genesis(app application, chainID string, validatorKey crypto.PubKey, flags accountFlags) (*cmttypes.GenesisDoc, error) {
	var accounts []authtypes.GenesisAccount
	var balances []banktypes.Balance
	for i, flag := range flags {
		text, amount, _ := strings.Cut(flag, "=")
		address, err := sdk.AccAddressFromBech32(text)
		if err != nil {
			return nil, fmt.Errorf("account %q: %w", flag, err)
		}
		coins, err := sdk.ParseCoinsNormalized(amount)
		if err != nil {
			return nil, fmt.Errorf("account %q: %w", flag, err)
		}
		accounts = append(accounts, authtypes.NewBaseAccount(address, nil, uint64(i), 0))
		balances = append(balances, banktypes.Balance{Address: text, Coins: coins})
	}

	validator := cmttypes.NewValidator(validatorKey, 1)
	validators := cmttypes.NewValidatorSet([]*cmttypes.Validator{validator})
	state, err := simtestutil.GenesisStateWithValSet(app.codec, app.DefaultGenesis(), validators, accounts, balances...)
	if err != nil {
		return nil, err
	}
	appState, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	document := &cmttypes.GenesisDoc{
		ChainID:         chainID,
		GenesisTime:     time.Now().UTC(),
		ConsensusParams: cmttypes.DefaultConsensusParams(),
		AppState:        appState,
	}
	return document, document.ValidateAndComplete()
}
