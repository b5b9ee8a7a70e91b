// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from '@openzeppelin/contracts/utils/cryptography/ECDSA.sol';
import {IERC1271} from '@openzeppelin/contracts/interfaces/IERC1271.sol';

/// @title The smallest wallet that is a contract
/// @notice Signs what its owner signs (EIP-1271): for payments and sign-ins by wallets that have no key of their own.
contract SmartWallet is IERC1271 {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, ECDSA.RecoverError problem, ) = ECDSA.tryRecoverCalldata(hash, signature);
        bool signed = problem == ECDSA.RecoverError.NoError && signer == owner;
        return signed ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
