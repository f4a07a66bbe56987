"""The header by which we speak to XLA (python/src/xla_ffi.h) is laid out as jaxlib's own."""

import shutil
import subprocess
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Our struct: jaxlib's, and our fields with the names that they have there.
STRUCTS = {
    "Extension": ("XLA_FFI_Extension_Base", "struct_size type next"),
    "Version": (
        "XLA_FFI_Api_Version",
        "struct_size extensions=extension_start major=major_version minor=minor_version",
    ),
    "Metadata": ("XLA_FFI_Metadata", "struct_size version=api_version traits"),
    "MetadataExtension": ("XLA_FFI_Metadata_Extension", "base=extension_base metadata"),
    "ErrorText": (
        "XLA_FFI_Error_Create_Args",
        "struct_size extensions=extension_start message code=errc",
    ),
    "ErrorGone": ("XLA_FFI_Error_Destroy_Args", "struct_size extensions=extension_start error"),
    "StreamOf": (
        "XLA_FFI_Stream_Get_Args",
        "struct_size extensions=extension_start context=ctx stream",
    ),
    "CardOf": (
        "XLA_FFI_DeviceOrdinal_Get_Args",
        "struct_size extensions=extension_start context=ctx card=device_ordinal",
    ),
    "Api": (
        "XLA_FFI_Api",
        "struct_size extensions=extension_start version=api_version internal=internal_api "
        "create_error=XLA_FFI_Error_Create destroy_error=XLA_FFI_Error_Destroy "
        "get_stream=XLA_FFI_Stream_Get get_card=XLA_FFI_DeviceOrdinal_Get",
    ),
    "Buffer": (
        "XLA_FFI_Buffer",
        "struct_size extensions=extension_start type=dtype data rank shape=dims",
    ),
    "Text": ("XLA_FFI_ByteSpan", "data=ptr size=len"),
    "Scalar": ("XLA_FFI_Scalar", "type=dtype value"),
    "Array": ("XLA_FFI_Array", "type=dtype size data"),
    "Attributes": (
        "XLA_FFI_Attrs",
        "struct_size extensions=extension_start size kinds=types names values=attrs",
    ),
    "CallFrame": (
        "XLA_FFI_CallFrame",
        "struct_size extensions=extension_start api context=ctx stage arguments=args results=rets "
        "attributes=attrs",
    ),
}
BUFFERS = {"XLA_FFI_Args": "args", "XLA_FFI_Rets": "rets"}  # both are our Buffers
GROWN = {"Api", "Metadata", "CallFrame"}  # at their ends, beyond what we use
VALUES = {
    "kMajor": "XLA_FFI_API_MAJOR",
    "kMinor": "XLA_FFI_API_MINOR",
    "kMetadataExtension": "XLA_FFI_Extension_Metadata",
    "kBuffer": "XLA_FFI_ArgType_BUFFER",
    "kBuffer + 0": "XLA_FFI_RetType_BUFFER",
    "kExecuteStage": "XLA_FFI_ExecutionStage_EXECUTE",
    "NumberType::int64": "XLA_FFI_DataType_S64",
    "NumberType::uint32": "XLA_FFI_DataType_U32",
    "NumberType::float32": "XLA_FFI_DataType_F32",
    "NumberType::float64": "XLA_FFI_DataType_F64",
    "AttributeKind::array": "XLA_FFI_AttrType_ARRAY",
    "AttributeKind::scalar": "XLA_FFI_AttrType_SCALAR",
    "AttributeKind::text": "XLA_FFI_AttrType_STRING",
    "ErrorCode::cancelled": "XLA_FFI_Error_Code_CANCELLED",
    "ErrorCode::invalid_argument": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "ErrorCode::internal": "XLA_FFI_Error_Code_INTERNAL",
}


def claims():
    for ours, (theirs, fields) in STRUCTS.items():
        yield from same_struct(ours, theirs, fields.split())
    for theirs, values in BUFFERS.items():
        fields = f"struct_size extensions=extension_start size kinds=types values={values}"
        yield from same_struct("Buffers", theirs, fields.split())
    for ours, theirs in VALUES.items():
        yield f"static_cast<int>({ours}) == static_cast<int>({theirs})"


def same_struct(ours, theirs, fields):
    relation = "<=" if ours in GROWN else "=="
    yield f"sizeof({ours}) {relation} sizeof({theirs})"
    yield f"alignof({ours}) == alignof({theirs})"
    for field in fields:
        own, _, other = field.partition("=")
        other = other or own
        yield f"offsetof({ours}, {own}) == offsetof({theirs}, {other})"
        yield f"sizeof({ours}::{own}) == sizeof({theirs}::{other})"


def compiles(assertions):
    compiler = shutil.which("c++") or shutil.which("g++")
    text = "\n".join(
        [
            '#include "python/src/xla_ffi.h"',
            '#include "xla/ffi/api/c_api.h"',
            "using namespace cycloid::python::xla;",
            *(f"static_assert({claim});" for claim in assertions),
        ]
    )
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", "-x", "c++", "-"]
    command += [f"-I{ROOT}", f"-I{jax.ffi.include_dir()}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def test_every_offset_size_and_value_is_that_of_jaxlib():
    good, said = compiles(claims())
    assert good, said


@pytest.mark.parametrize(
    "wrong",
    [
        "offsetof(Buffer, shape) == offsetof(XLA_FFI_Buffer, data)",
        "static_cast<int>(NumberType::float32) == static_cast<int>(XLA_FFI_DataType_F64)",
    ],
)
def test_a_difference_is_seen(wrong):
    assert not compiles([wrong])[0]


def test_every_struct_and_value_of_the_header_is_compared():
    header = (ROOT / "python/src/xla_ffi.h").read_text()
    lines = [line.strip() for line in header.splitlines()]
    structs = {line.split()[1] for line in lines if line.startswith("struct") and "{" in line}
    assert structs == {*STRUCTS, "Buffers"}
    constants = {w for line in lines for w in line.replace(",", " ").split() if w.startswith("k")}
    constants = {w for w in constants if w[1:2].isupper() and w.isalnum()}
    assert constants <= set(VALUES)
