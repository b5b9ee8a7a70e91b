// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from '@openzeppelin/contracts/token/ERC20/ERC20.sol';
import {MessageHashUtils} from '@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol';
import {Nonces} from '@openzeppelin/contracts/utils/Nonces.sol';
import {SignatureChecker} from '@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol';

/// @title A token that a wallet, a client or a facilitator cannot tell from USDC on Base Sepolia
/// @notice DEVELOPMENT ONLY: anyone may mint.
/// @dev Written to be placed with `anvil_setCode`, so nothing here may depend on a constructor: the name, the version
/// and the EIP-712 domain are computed, neither immutable nor stored. Refusals speak with the words of Circle's token.
contract USDC is ERC20('', ''), Nonces {
    string public constant version = '2';

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)');
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH =
        keccak256(
            'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)'
        );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH =
        keccak256(
            'ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)'
        );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256('CancelAuthorization(address authorizer,bytes32 nonce)');
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256('Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)');

    /// @notice EIP-3009: whether the authorizer's nonce was used or cancelled.
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    function name() public pure override returns (string memory) {
        return 'USDC';
    }

    function symbol() public pure override returns (string memory) {
        return 'USDC';
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @notice DEVELOPMENT ONLY: any caller can create `value` for `to`.
    function mint(address to, uint256 value) external returns (bool) {
        _mint(to, value);
        return true;
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return
            keccak256(
                abi.encode(DOMAIN_TYPEHASH, keccak256('USDC'), keccak256(bytes(version)), block.chainid, address(this))
            );
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice The overload for any wallet: sixty-five bytes of an account, or what an EIP-1271 contract understands.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        bytes32 message = keccak256(
            abi.encode(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        _useAuthorization(from, validAfter, validBefore, nonce, message, signature);
        _transfer(from, to, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        require(to == msg.sender, 'FiatTokenV2: caller must be the payee');
        bytes32 message = keccak256(
            abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        _useAuthorization(from, validAfter, validBefore, nonce, message, signature);
        _transfer(from, to, value);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public {
        _requireUnused(authorizer, nonce);
        _requireSigned(authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature);
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    /// @notice EIP-2612.
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        permit(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        bytes memory signature
    ) public {
        require(deadline >= block.timestamp, 'FiatTokenV2: permit is expired');
        bytes32 message = keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline));
        _requireSigned(owner, message, signature);
        _approve(owner, spender, value);
    }

    function _useAuthorization(
        address authorizer,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes32 message,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, 'FiatTokenV2: authorization is not yet valid');
        require(block.timestamp < validBefore, 'FiatTokenV2: authorization is expired');
        _requireUnused(authorizer, nonce);
        _requireSigned(authorizer, message, signature);
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationUsed(authorizer, nonce);
    }

    function _requireUnused(address authorizer, bytes32 nonce) private view {
        require(!authorizationState[authorizer][nonce], 'FiatTokenV2: authorization is used or canceled');
    }

    function _requireSigned(address signer, bytes32 message, bytes memory signature) private view {
        bytes32 digest = MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), message);
        require(SignatureChecker.isValidSignatureNow(signer, digest, signature), 'FiatTokenV2: invalid signature');
    }

    function _update(address from, address to, uint256 value) internal override {
        require(from == address(0) || balanceOf(from) >= value, 'ERC20: transfer amount exceeds balance');
        super._update(from, to, value);
    }
}
