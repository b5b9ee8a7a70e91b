// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1271} from '@openzeppelin/contracts/interfaces/IERC1271.sol';
import {IERC20} from '@openzeppelin/contracts/token/ERC20/IERC20.sol';
import {SafeERC20} from '@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol';
import {MessageHashUtils} from '@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol';

/// @title Transfers by signature, of any token whose holder approved this contract once
/// @notice The interface of the Permit2 that stands at one address on every public chain; the part of it that transfers
/// by a signature alone. As there, a transfer says nothing of itself: only the token emits an event.
/// @dev Written to be placed with `anvil_setCode`: the EIP-712 domain is computed, neither immutable nor stored.
contract Permit2 {
    using SafeERC20 for IERC20;

    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    error SignatureExpired(uint256 signatureDeadline);
    error InvalidNonce();
    error InvalidAmount(uint256 maxAmount);
    error InvalidSignatureLength();
    error InvalidSignature();
    error InvalidSigner();
    error InvalidContractSignature();

    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256('EIP712Domain(string name,uint256 chainId,address verifyingContract)');
    bytes32 private constant TOKEN_PERMISSIONS_TYPEHASH = keccak256('TokenPermissions(address token,uint256 amount)');
    bytes32 private constant PERMIT_TRANSFER_FROM_TYPEHASH =
        keccak256(
            'PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)TokenPermissions(address token,uint256 amount)'
        );
    string private constant PERMIT_WITNESS_TYPE =
        'PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,';

    /// @notice 256 nonces a word: a bit that is set is a nonce that was used or given up.
    mapping(address owner => mapping(uint256 word => uint256)) public nonceBitmap;

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPEHASH, keccak256('Permit2'), block.chainid, address(this)));
    }

    function permitTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external {
        bytes32 message = keccak256(
            abi.encode(
                PERMIT_TRANSFER_FROM_TYPEHASH,
                _hash(permit.permitted),
                msg.sender,
                permit.nonce,
                permit.deadline
            )
        );
        _transfer(permit, transferDetails, owner, message, signature);
    }

    /// @notice The same, of a message that holds more than the permit: `witness` is the hash of what its type describes.
    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 message = keccak256(
            abi.encode(
                keccak256(abi.encodePacked(PERMIT_WITNESS_TYPE, witnessTypeString)),
                _hash(permit.permitted),
                msg.sender,
                permit.nonce,
                permit.deadline,
                witness
            )
        );
        _transfer(permit, transferDetails, owner, message, signature);
    }

    /// @notice Gives up the nonces of one's own whose bits are set in `mask`.
    function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) external {
        nonceBitmap[msg.sender][wordPos] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, wordPos, mask);
    }

    function _transfer(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 message,
        bytes calldata signature
    ) private {
        if (block.timestamp > permit.deadline) revert SignatureExpired(permit.deadline);
        if (transferDetails.requestedAmount > permit.permitted.amount) revert InvalidAmount(permit.permitted.amount);
        _useNonce(owner, permit.nonce);
        _requireSigned(owner, MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), message), signature);
        IERC20(permit.permitted.token).safeTransferFrom(owner, transferDetails.to, transferDetails.requestedAmount);
    }

    function _hash(TokenPermissions calldata permitted) private pure returns (bytes32) {
        return keccak256(abi.encode(TOKEN_PERMISSIONS_TYPEHASH, permitted.token, permitted.amount));
    }

    function _useNonce(address owner, uint256 nonce) private {
        uint256 bit = 1 << (nonce & 0xff);
        uint256 before = nonceBitmap[owner][nonce >> 8];
        if (before & bit != 0) revert InvalidNonce();
        nonceBitmap[owner][nonce >> 8] = before | bit;
    }

    /// @dev Where there is code it alone decides, be there a key or not.
    function _requireSigned(address owner, bytes32 digest, bytes calldata signature) private view {
        if (owner.code.length != 0) {
            if (IERC1271(owner).isValidSignature(digest, signature) != IERC1271.isValidSignature.selector)
                revert InvalidContractSignature();
            return;
        }
        address signer;
        if (signature.length == 65) {
            signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        } else if (signature.length == 64) {
            uint256 vs = uint256(bytes32(signature[32:]));
            signer = ecrecover(digest, uint8(vs >> 255) + 27, bytes32(signature[:32]), bytes32((vs << 1) >> 1));
        } else {
            revert InvalidSignatureLength();
        }
        if (signer == address(0)) revert InvalidSignature();
        if (signer != owner) revert InvalidSigner();
    }
}
