// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Many calls in one transaction, each with its own result
/// @notice The interface of the Multicall3 that stands at one address on every public chain; the parts of it that
/// clients and facilitators use.
contract Multicall3 {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Call3Value {
        address target;
        bool allowFailure;
        uint256 value;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    /// @notice A call that fails undoes the others only if its own `allowFailure` is false.
    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = _call(calls[i].target, 0, calls[i].callData, calls[i].allowFailure);
        }
    }

    /// @notice As `aggregate3`, with wei for each call; their sum must be exactly what was sent.
    function aggregate3Value(Call3Value[] calldata calls) external payable returns (Result[] memory results) {
        uint256 total = 0;
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            total += calls[i].value;
            results[i] = _call(calls[i].target, calls[i].value, calls[i].callData, calls[i].allowFailure);
        }
        require(msg.value == total, 'Multicall3: value mismatch');
    }

    function tryAggregate(
        bool requireSuccess,
        Call[] calldata calls
    ) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = _call(calls[i].target, 0, calls[i].callData, !requireSuccess);
        }
    }

    function getBlockNumber() external view returns (uint256) {
        return block.number;
    }

    function getCurrentBlockTimestamp() external view returns (uint256) {
        return block.timestamp;
    }

    function getChainId() external view returns (uint256) {
        return block.chainid;
    }

    function getEthBalance(address account) external view returns (uint256) {
        return account.balance;
    }

    function _call(
        address target,
        uint256 value,
        bytes calldata callData,
        bool allowFailure
    ) private returns (Result memory result) {
        (result.success, result.returnData) = target.call{value: value}(callData);
        require(result.success || allowFailure, 'Multicall3: call failed');
    }
}
